# SPDX-License-Identifier: Apache-2.0
# Cells of a notebook about a recording of measured runs.
# %% [markdown]
# # {{title}}
#
# Measured runs that were kept for later. Written by {{program}}; all cells run from top to bottom without edits.
# Scenarios of one group ran in turns, so that what drifts on a computer meets all of them alike.
# %% [parameters]
from pathlib import Path

folder = Path("{{folder}}")  # of the recording; relative to where this notebook stands
figures = None  # a folder, to write every figure there as PDF too
machine = None  # file of a calibrated machine to predict the runs with; None: that of the spec
scenario = None  # whose timeline is drawn; None: the longest
max_streams = 24  # rows of the timeline
# %% [cells setup]
# %% [cells timeline]
# %% [markdown]
# ## What was measured
# %%
recording = json.loads((folder / "recording.json").read_text())
print(f"{recording['device']}, {recording['date']}, {recording['repetitions']} runs after {recording['warm_up']} to warm up")
if not recording["complete"]:
    print("The recording was stopped before its end.")
runs = pd.DataFrame([{"scenario": each["scenario"], "name": each["name"], **run}
                     for each in recording["scenarios"] for run in each.get("runs", [])])
runs["makespan_ms"] = runs.makespan_ps * 1e-9
table = runs.groupby(["scenario", "name"]).makespan_ms.describe(percentiles=[0.25, 0.5, 0.75])
table["spread"] = (table["75%"] - table["25%"]) / table["50%"]
table = table.drop(columns="std").rename(columns={name: f"{name}_ms" for name in ("mean", "min", "25%", "50%", "75%", "max")})
table.round(3).reset_index("name")
# %% [markdown]
# ## How runs scatter
#
# Each point is a run over the median of its scenario. Points that lie apart from the rest were disturbed by something else on the computer.
# %%
runs["relative"] = runs.makespan_ps / runs.groupby("scenario").makespan_ps.transform("median")
shown = list(dict.fromkeys(runs.scenario))[:30]
figure, axes = plt.subplots(figsize=(7, 1.2 + 0.24 * len(shown)))
for row, number in enumerate(shown):
    axes.scatter(runs[runs.scenario == number].relative, np.full((runs.scenario == number).sum(), row), s=12, color=COLORS[0], alpha=0.6)
axes.axvline(1, color="black", linestyle="--", linewidth=0.8)
names = dict(zip(runs.scenario, runs.name))
axes.set_yticks(range(len(shown)), [f"{number}: {names[number]}" for number in shown], fontsize=7)
axes.invert_yaxis()
axes.set(xlabel="makespan / median of the scenario", title="Scatter of equal runs" + (" (the first 30 scenarios)" if len(names) > 30 else ""))
show(figure, "scatter")
# %% [markdown]
# ## Does the computer drift?
#
# The median over all scenarios of a round; a slope or a step means that later runs met another computer than earlier ones.
# %%
rounds = runs.groupby("round").relative.quantile([0.25, 0.5, 0.75]).unstack()
figure, axes = plt.subplots(figsize=(7, 2.6))
axes.fill_between(rounds.index, rounds[0.25], rounds[0.75], color=COLORS[0], alpha=0.2, linewidth=0, label="middle half")
axes.plot(rounds.index, rounds[0.5], label="median", **style(0))
axes.axhline(1, color="black", linestyle="--", linewidth=0.8)
axes.xaxis.set_major_locator(plt.MaxNLocator(integer=True))
axes.set(xlabel="round", ylabel="makespan / median", title="Runs over time")
axes.legend(loc="best")
show(figure, "drift")
# %% [markdown]
# ## Timeline of a measured run
#
# The run nearest to the median. A row is a stream, a bar is a task; critical tasks have a dark outline.
# %%
with_traces = {each["scenario"]: each for each in recording["scenarios"] if each.get("traces")}
if with_traces:
    if scenario is None:
        scenario = max(with_traces, key=lambda number: runs[runs.scenario == number].makespan_ps.median())
    tasks, about = load_trace(folder / with_traces[scenario]["traces"][0])
    figure, axes = plt.subplots(figsize=(7, 1.4 + 0.26 * min(max_streams, max(1, tasks.stream.nunique()))))
    axes.set_title(about["title"])
    draw_timeline(axes, tasks, about, max_streams)
    show(figure, "timeline")
else:
    print("No traces were kept.")
# %% [markdown]
# ## Predicted again
#
# `schedlab validate` with these runs in place of new ones: what today's models, or another machine file, would have predicted.
# %%
if sl and (folder / "spec.json").exists():
    validated = sl.validate(folder / "spec.json", recording=folder, machine=machine)
    errors = validated["makespan_error"]
    print(f"error of the makespan: median {errors['median']:.1%}, 90 % below {errors['p90']:.1%}, most {errors['max']:.1%}")
validated.picture("makespans.svg") if sl and (folder / "spec.json").exists() else None
