# SPDX-License-Identifier: Apache-2.0
# Cells of a notebook about a validation.
# %% [markdown]
# # {{title}}
#
# Predicted against measured runs. Written by {{program}}; all cells run from top to bottom without edits.
# A scenario's prediction is held against the median of its measured makespans; an error above 0 is a prediction that is too long.
# %% [parameters]
from pathlib import Path

folder = Path("{{folder}}")  # of the validation; relative to where this notebook stands
figures = None  # a folder, to write every figure there as PDF too
# %% [cells setup]
# %% [markdown]
# ## In numbers
# %%
validation = json.loads((folder / "validation.json").read_text())
summary = validation["summary"]
rows = pd.read_csv(folder / "scenarios.csv", keep_default_na=False, na_values=[""])
rows = rows[rows.measured_us.notna() & rows.predicted_us.notna()].copy()
if "policy" not in rows:
    rows["policy"] = "the only policy"
policies = list(dict.fromkeys(rows.policy))
error = summary["makespan_error"]
order = summary["order_right"]
pd.DataFrame([
    ("measured on", f"{summary['device']}, {summary['date']}"),
    ("calibrated machine", "yes" if summary["calibrated"] else "no: times come from a data sheet"),
    ("scenarios compared", f"{summary['compared']} of {summary['scenarios']}, {summary['repetitions']} runs each"),
    ("error of the makespan", f"median {error['median']:.1%}, 90 % below {error['p90']:.1%}, most {error['max']:.1%}"),
    ("bias", f"{error['bias']:+.1%}"),
    ("scatter of equal runs", f"{summary['spread_of_runs']:.1%} between quartiles (median)"),
    ("pairs of policies told apart", f"{summary['decidable_pairs']} of {summary['pairs']}"),
    ("... predicted in the right order", f"{order['share']:.0%}" if order["of"] else "none to judge"),
    ("regret of taking the predicted best", f"{summary['regret_mean']:.1%} on average"),
], columns=["", "value"]).set_index("")
# %% [markdown]
# ## Predicted against measured
#
# On the diagonal a prediction is right; the band is 5 % to each side. Bars are 95 % intervals of the measured median and, where the
# machine is calibrated, 90 % intervals of the prediction.
# %%
figure, axes = plt.subplots(figsize=(5, 4.6))
for number, policy in enumerate(policies):
    of_it = rows[rows.policy == policy]
    across = np.clip([of_it.measured_us - of_it.measured_us_low, of_it.measured_us_high - of_it.measured_us], 0, None) / 1000
    up = None
    if of_it.predicted_us_p5.notna().any():
        up = np.nan_to_num(np.clip([of_it.predicted_us - of_it.predicted_us_p5, of_it.predicted_us_p95 - of_it.predicted_us], 0, None)) / 1000
    look = style(number)
    axes.errorbar(of_it.measured_us / 1000, of_it.predicted_us / 1000, xerr=across, yerr=up, linestyle="none",
                  marker=look["marker"], color=look["color"], markersize=5, elinewidth=0.8, label=policy)
reached = rows[["measured_us_low", "measured_us_high", "predicted_us", "predicted_us_p5", "predicted_us_p95"]]
ends = np.array([reached.min().min() * 0.8, reached.max().max() * 1.25]) / 1000
axes.plot(ends, ends, color="black", linestyle="--", linewidth=0.8)
axes.fill_between(ends, ends * 0.95, ends * 1.05, color="#999999", alpha=0.25, linewidth=0)
axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="measured makespan (ms)", ylabel="predicted makespan (ms)",
         title="Predicted against measured")
for axis in (axes.xaxis, axes.yaxis):
    axis.set_major_locator(plt.LogLocator(subs=(1, 2, 3, 5, 7) if ends[1] / ends[0] < 30 else (1,)))
    plain_ticks(axis)
axes.legend(loc="upper left")
show(figure, "predicted_measured")
# %% [markdown]
# ## Errors by policy
#
# Policies that are off by different amounts put their comparison in doubt, even where the median error is small.
# %%
figure, axes = plt.subplots(figsize=(7, 1.2 + 0.4 * len(policies)))
for row, policy in enumerate(policies):
    errors = 100 * rows[rows.policy == policy].error
    axes.scatter(errors, np.full(len(errors), row), marker=MARKERS[row % len(MARKERS)], color=COLORS[row % len(COLORS)], s=30, alpha=0.8)
    axes.plot([errors.median()] * 2, [row - 0.3, row + 0.3], color="black", linewidth=2)
axes.axvline(0, color="black", linestyle="--", linewidth=0.8)
axes.axvspan(-5, 5, color="#999999", alpha=0.25, linewidth=0)
axes.set_yticks(range(len(policies)), policies)
axes.invert_yaxis()
axes.set(xlabel="(predicted - measured) / measured (%)", title="Error by policy: each scenario, and the median (bar)", ylim=(len(policies) - 0.5, -0.5))
show(figure, "error_by_policy")
# %% [markdown]
# ## Where errors come from
#
# The error budget splits predicted minus measured into parts that add up to it exactly. Parts of opposite sign hide each other in the
# error itself (the black mark).
# %%
parts = [name for name in rows.columns if name.startswith("error_") and name.endswith("_us")]
shown = rows.reindex(rows.error.abs().sort_values(ascending=False).index).head(20).sort_values("scenario")
figure, axes = plt.subplots(figsize=(7, 1.4 + 0.26 * len(shown)))
for number, part in enumerate(parts):
    values = 100 * shown[part] / shown.measured_us
    # Positive parts are stacked to the right, negative ones to the left.
    before = sum((100 * shown[other] / shown.measured_us).where(np.sign(shown[other]) == np.sign(shown[part]), 0) for other in parts[:number]) if number else 0
    axes.barh(range(len(shown)), values, left=before, label=part[len("error_"):-len("_us")].replace("_", " "), **filling(number))
axes.plot(100 * shown.error, range(len(shown)), linestyle="none", marker="|", markersize=12, markeredgewidth=2, color="black", label="error")
axes.axvline(0, color="black", linewidth=0.8)
axes.set_yticks(range(len(shown)), [f"{row.scenario}: {row.policy}" for row in shown.itertuples()])
axes.invert_yaxis()
axes.set(xlabel="share of the measured makespan (%)", title="Error budget" + (" (the 20 worst scenarios)" if len(rows) > 20 else ""))
axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
show(figure, "error_budget")
# %% [markdown]
# ## Is the order right?
#
# Each point is a pair of policies on one workload: the speed-up of one over the other, predicted and measured. In the grey quarters the
# prediction has the order wrong. Hollow points are pairs that the measurement cannot tell apart.
# %%
pairs = pd.read_csv(folder / "pairs.csv")
if len(pairs):
    figure, axes = plt.subplots(figsize=(5, 4.6))
    reach = max(1.05, *(np.exp(np.abs(np.log(pairs[column])).max()) for column in ("predicted_speed_up", "measured_speed_up"))) * 1.1
    axes.fill_between([1 / reach, 1], 1, reach, color="#999999", alpha=0.2, linewidth=0)
    axes.fill_between([1, reach], 1 / reach, 1, color="#999999", alpha=0.2, linewidth=0)
    for decidable, look in ((1, {"color": COLORS[0]}), (0, {"facecolors": "none", "edgecolors": COLORS[0]})):
        of_it = pairs[pairs.decidable == decidable]
        axes.scatter(of_it.measured_speed_up, of_it.predicted_speed_up, s=30, label="told apart" if decidable else "not told apart", **look)
    axes.plot([1 / reach, reach], [1 / reach, reach], color="black", linestyle="--", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlim=(1 / reach, reach), ylim=(1 / reach, reach), xlabel="measured speed-up", ylabel="predicted speed-up",
             title="Pairs of policies")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(plt.LogLocator(subs=(1, 1.5, 2, 3, 5, 7)) if reach > 1.5 else plt.MaxNLocator(5))
        plain_ticks(axis)
    axes.legend(loc="upper left")
    show(figure, "pairs")
else:
    print("No two scenarios differ in the policy alone.")
# %% [markdown]
# ## All scenarios
# %%
rows[["scenario", "policy", "predicted_us", "measured_us", "error", "spread", "inside_calibrated_range"]].round(3)
# %% [markdown]
# ## One scenario, predicted and measured
#
# The scenario whose measured trace the validation kept, over one time axis.
# %%
sl.Svg((folder / "timeline.svg").read_text()) if sl and (folder / "timeline.svg").exists() else None
