# SPDX-License-Identifier: Apache-2.0
# Cells of a notebook about a sweep.
# %% [markdown]
# # {{title}}
#
# A sweep, as its database tells it. Written by {{program}}; all cells run from top to bottom without edits.
# Rows are scenarios. A *case* is what scenarios of different policies have in common: workload, machine and all else that is not part
# of the policy. Speed-ups compare scenarios of one case. Policies may cut the workload into tasks of different *granularity*; then part of
# a speed-up is due to the *cut* and not to the *order* of the tasks, and policies are compared like for like first.
# %% [parameters]
from pathlib import Path

folder = Path("{{folder}}")  # of the sweep; relative to where this notebook stands
spec_folder = "."  # where paths in the sweep's spec start from
figures = None  # a folder, to write every figure there as PDF too
baseline = None  # policy that speed-ups are over; None: the spec's baseline, else the first policy
panel = None  # axis with a panel per value; None: the machine, if there are several
# %% [cells setup]
# %% [markdown]
# ## The rows
# %%
import sqlite3

with sqlite3.connect(folder / "results.sqlite") as database:
    about = dict(database.execute("SELECT key, value FROM meta"))
    axes_of = pd.read_sql("SELECT * FROM axes", database)
    rows = pd.read_sql("SELECT * FROM results ORDER BY scenario", database)
spec = json.loads(about["spec"])
failed = rows.makespan_ps.isna()
print(f"{about['name']}: {len(rows)} of {about['scenarios']} scenarios, {failed.sum()} without a result")
for note, count in rows[failed].note.value_counts().head(5).items():
    print(f"  {count} x {note}")
rows = rows[~failed].copy()
if "policy" not in rows:
    rows["policy"] = "the only policy"
knobs = [name for name, path in zip(axes_of.name, axes_of.path) if path.startswith("/policy/") and rows[name].notna().any()]
case = [name for name, path in zip(axes_of.name, axes_of.path) if not path.startswith("/policy")]


def variant(row):
    """A policy with the knobs that the sweep turns."""
    turned = [f"{name}={row[name]:g}" if isinstance(row[name], float) else f"{name}={row[name]}" for name in knobs if pd.notna(row[name])]
    return row.policy + (f" ({', '.join(turned)})" if turned else "")


rows["variant"] = rows.apply(variant, axis=1)
variants = list(dict.fromkeys(rows.variant))
axes_of
# %% [markdown]
# ## What each policy was given
#
# Tasks, kernels and work (all tasks on all units of the device): smallest and largest over the cases.
# %%
rows["task_granularity"] = rows.task_granularity.fillna("of the workload")
given = rows.groupby(["policy", "task_granularity"], sort=False)[["tasks", "launches", "work_us"]].agg(["min", "max"])
given.rename(columns={"launches": "kernels"})
# %%
policies = list(dict.fromkeys(rows.policy))
baseline = baseline or spec.get("baseline") or policies[0]
if baseline not in policies:
    raise ValueError(f"baseline {baseline!r} is none of {policies}")
# Cases are told apart by their axes; without any there is one case.
rows["case"] = rows[case].astype(str).agg(", ".join, axis=1) if case else "all"
of_baseline = rows[rows.policy == baseline].groupby("case").makespan_us.min()
rows["speed_up"] = rows.case.map(of_baseline) / rows.makespan_us
# Makespan of every run at every granularity that policies of its case were given.
granularities = [name[len("makespan_at_"):-len("_ps")] for name in rows if name.startswith("makespan_at_")]
alike = pd.concat([rows.assign(task_granularity=name, makespan_us=rows[f"makespan_at_{name}_ps"] / 1e6) for name in granularities]
                  + [rows[~rows.task_granularity.isin(granularities)]]).dropna(subset="makespan_us")
baseline_at = alike[alike.policy == baseline].groupby(["case", "task_granularity"]).makespan_us.min()
alike["speed_up"] = baseline_at.reindex(pd.MultiIndex.from_frame(alike[["case", "task_granularity"]])).to_numpy() / alike.makespan_us
# %% [markdown]
# ## Like for like
#
# Policies that were given the same tasks: speed-up over the baseline at the same granularity, and who is fastest in how many cases.
# %%
quickest = alike.sort_values("makespan_us", kind="stable").drop_duplicates(["case", "task_granularity"])
fair = alike.groupby(["task_granularity", "variant"], sort=False).speed_up.describe(percentiles=[0.25, 0.5, 0.75])
fair["fastest in cases"] = quickest.groupby(["task_granularity", "variant"]).size().reindex(fair.index, fill_value=0)
fair.drop(columns="std").round(3)
# %% [markdown]
# ## Speed-up, each policy at its own granularity
#
# Over the baseline's shortest run of the same case; above 1 is faster than the baseline. It is the product of *cut*, the speed-up of the
# baseline's own policy when it is given the granularity of the other one, and *order*, the speed-up over the baseline at that granularity.
# %%
own_granularity = pd.MultiIndex.from_frame(rows[["case", "task_granularity"]])
rows["order"] = baseline_at.reindex(own_granularity).to_numpy() / rows.makespan_us
rows["cut"] = rows.speed_up / rows.order
summary = rows.groupby("variant").speed_up.describe(percentiles=[0.25, 0.5, 0.75]).reindex(variants)
fastest = rows.loc[rows.groupby("case").makespan_us.idxmin()]
summary[["cut", "order"]] = rows.groupby("variant")[["cut", "order"]].agg(lambda ratios: np.exp(np.log(ratios).mean())).reindex(variants)
summary["fastest in cases"] = fastest.variant.value_counts().reindex(variants, fill_value=0)
summary.drop(columns="std").round(3)
# %%
figure, axes = plt.subplots(figsize=(7, 1.2 + 0.34 * len(variants)))
rng = np.random.default_rng(1)
for row, name in enumerate(variants):
    values = rows[rows.variant == name].speed_up.dropna()
    if values.empty:
        continue
    axes.scatter(values, row + rng.uniform(-0.25, 0.25, len(values)), s=6, color=COLORS[0], alpha=0.5, linewidths=0)
    low, median, high = np.percentile(values, [25, 50, 75])
    axes.plot([low, high], [row, row], color="black", linewidth=3, solid_capstyle="butt")
    axes.plot(median, row, marker="D", color=COLORS[1], markeredgecolor="black", markersize=6)
axes.axvline(1, color="black", linewidth=0.8, linestyle="--")
axes.set_yticks(range(len(variants)), variants)
axes.invert_yaxis()
axes.set(xlabel=f"speed-up over {baseline}", title="Speed-up in all cases: median (diamond), middle half (bar)")
show(figure, "speed_up")
# %% [markdown]
# ## Along the axes
#
# Median over all cases with that value; the shade is the middle half of them, the thin lines are the smallest and the largest: below 1 the
# policy loses. Policies that differ in a knob are drawn by their best run of each case.
# %%
numeric = [name for name in case if rows[name].nunique() > 1 and pd.api.types.is_numeric_dtype(rows[name])]
if panel is None and "machine" in case and rows.machine.nunique() > 1:
    panel = "machine"
panels = list(dict.fromkeys(rows[panel])) if panel else [None]
best = rows.loc[rows.groupby(["case", "policy"], sort=False).makespan_us.idxmin()]
for axis in numeric:
    columns = 2 if len(panels) == 4 else min(len(panels), 3)
    lines = -(-len(panels) // columns)
    figure, grid = plt.subplots(lines, columns, sharex=True, sharey=True, squeeze=False,
                                figsize=(max(4.5, 2.6 * columns), 2.4 * lines + 0.7))
    for place, value in enumerate(panels):
        axes = grid[place // columns][place % columns]
        here = best if value is None else best[best[panel] == value]
        for number, policy in enumerate(policies):
            if policy == baseline:
                continue
            quartiles = here[here.policy == policy].groupby(axis).speed_up.quantile([0.0, 0.25, 0.5, 0.75, 1.0]).unstack()
            if quartiles.empty:
                continue
            axes.fill_between(quartiles.index, quartiles[0.25], quartiles[0.75], color=style(number)["color"], alpha=0.15, linewidth=0)
            axes.plot(quartiles.index, quartiles[0.5], label=policy, **style(number))
            for end in (0.0, 1.0):
                axes.plot(quartiles.index, quartiles[end], color=style(number)["color"], linewidth=0.5)
        axes.axhline(1, color="black", linewidth=0.8)
        ticks = sorted(rows[axis].unique())
        if ticks[0] > 0 and ticks[-1] / ticks[0] >= 4:
            axes.set_xscale("log", base=2)
        axes.set_xticks(ticks)
        plain_ticks(axes.xaxis)
        axes.set_title("" if value is None else f"{value}")
        if place + columns >= len(panels):  # nothing beneath
            axes.set_xlabel(axis)
            axes.xaxis.set_tick_params(labelbottom=True)
        if place % columns == 0:
            axes.set_ylabel(f"speed-up over {baseline}" if lines == 1 else "speed-up")
    for place in range(len(panels), lines * columns):
        grid[place // columns][place % columns].axis("off")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0), ncol=4)
    figure.suptitle(f"Along {axis}: speed-up over {baseline}, median, middle half and range")
    show(figure, f"along_{axis}")
if not numeric:
    print("No axis of the workload or the machine has several numbers.")
# %% [markdown]
# ## Where the order turns
#
# Two policies along a numeric axis, all else equal, each by its best run: the policy is slower than the other one up to one value and faster
# from the next. Like for like (at the granularity that is named), and each policy as it cuts the workload itself (`own`).
# %%
def turns_of(runs, others_of):
    """Every change of the faster policy along a numeric axis."""
    found = []
    for axis in numeric:
        others = [name for name in others_of if name != axis and runs[name].nunique() > 1]
        ordered = runs.sort_values(axis)
        for _, line in ordered.groupby(others, sort=False, dropna=False) if others else [("", ordered)]:
            times = line.pivot_table(index=axis, columns="policy", values="makespan_us", aggfunc="min")
            for one, other in itertools.combinations([policy for policy in policies if policy in times], 2):
                lead = np.sign(times[other] - times[one])  # 1: `one` is faster
                lead = lead[lead.notna() & (lead != 0)]
                for below, above in zip(lead.index[:-1], lead.index[1:]):
                    if lead[below] != lead[above]:
                        winner, loser = (one, other) if lead[above] > 0 else (other, one)
                        at = ", ".join(f"{name} = {line[name].iloc[0]}" for name in others)
                        found.append((winner, axis, below, above, loser, at))
    return found


turns = [(name, *turn) for name, runs in alike.groupby("task_granularity", sort=False) for turn in turns_of(runs, case)]
if granularities:
    turns += [("own", *turn) for turn in turns_of(rows, case)]
pd.DataFrame(turns, columns=["granularity", "policy", "axis", "slower up to", "faster from", "than", "at"])
# %% [markdown]
# ## Time against memory
#
# One case: the one in which policies differ most. A point is a scenario; those on the line are *Pareto-optimal*: nothing is faster
# without holding more memory.
# %%
spread = rows.groupby("case").makespan_us.agg(lambda times: times.max() / times.min())
chosen = rows[rows.case == spread.idxmax()].sort_values(["makespan_us", "peak_memory_bytes"])
if chosen.peak_memory_bytes.max() > 0:
    front = chosen[chosen.peak_memory_bytes < chosen.peak_memory_bytes.cummin().shift(fill_value=np.inf)]
    figure, axes = plt.subplots()
    for number, name in enumerate(dict.fromkeys(chosen.variant)):
        of_it = chosen[chosen.variant == name]
        time, memory = of_it.makespan_us / 1000, of_it.peak_memory_bytes / 2**20
        look = style(number)
        # The numbers tell points apart that lie on each other.
        label = f"{name}: {time.iloc[0]:.3g} ms, {memory.iloc[0]:.4g} MiB" if len(of_it) == 1 else name
        axes.scatter(time, memory, facecolors="none" if number % 2 else look["color"], edgecolors=look["color"], marker=look["marker"],
                     s=60 - 4 * min(number, 8), label=label, zorder=3 + number)
    axes.step(front.makespan_us / 1000, front.peak_memory_bytes / 2**20, where="post", color="black", linewidth=0.8, label="Pareto front")
    axes.set(xlabel="makespan (ms)", ylabel="peak memory (MiB)",
             title="Time against memory\n" + ", ".join(f"{name} {chosen[name].iloc[0]}" for name in case))
    figure.legend(*axes.get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0), ncol=1 + (chosen.variant.str.len().max() < 25))
    show(figure, "pareto")
else:
    print("The graphs of this sweep have no tensors: nothing is known of their memory.")
# %% [markdown]
# ## How near to the best that is possible
#
# Makespan over the largest lower bound of the case: at 1 no schedule of this case is faster in the machine model, at any granularity that its
# policies were given. The mark says which bound it is.
# %%
figure, axes = plt.subplots(figsize=(7, 1.2 + 0.34 * len(variants)))
for number, bound in enumerate(sorted(rows.case_bound.dropna().unique())):
    of_it = rows[rows.case_bound == bound]
    axes.scatter(of_it.case_gap, of_it.variant.map(variants.index) + rng.uniform(-0.25, 0.25, len(of_it)), s=14, linewidths=0,
                 color=COLORS[number], marker=MARKERS[number], alpha=0.7, label=bound.replace("_", " "))
axes.set_yticks(range(len(variants)), variants)
axes.invert_yaxis()
axes.set(xlabel="makespan / largest lower bound of the case", title="Distance from the lower bounds")
if rows.case_gap.max() > 5:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
    plain_ticks(axes.xaxis)
axes.legend(title="largest bound", loc="upper left", bbox_to_anchor=(1.0, 1.0))
show(figure, "gap")
# %% [markdown]
# ## The fastest of each case
# %%
shown = case + ["variant", "task_granularity", "makespan_us", "speed_up", "cut", "order", "case_gap", "utilization", "host_bound_share", "peak_memory_bytes"]
fastest.sort_values("scenario")[shown].head(40).round(3).reset_index(drop=True)
# %% [markdown]
# ## The case in which policies differ most, again
#
# Its slowest and its fastest scenario, simulated here, over one time axis. `sl.read_sweep(folder).run(number)` does so for any scenario.
# %%
if sl:
    swept = sl.read_sweep(folder, spec_folder)
    ends = rows[rows.case == spread.idxmax()].sort_values("makespan_us", kind="stable")
    slowest, quickest = (swept.run(number) for number in (ends.scenario.iloc[-1], ends.scenario.iloc[0]))
    print(slowest, quickest, quickest.why, sep="\n")
slowest.timeline(beside=quickest) if sl else None
