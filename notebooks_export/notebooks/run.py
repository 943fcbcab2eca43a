# SPDX-License-Identifier: Apache-2.0
# Cells of a notebook about one simulated or executed run.
# %% [markdown]
# # {{title}}
#
# One run, as its files tell it. Written by {{program}}; all cells run from top to bottom without edits.
# Everything below is read from the folder of the run: `metrics.json`, `trace.json`, `utilization.csv`, `operations.csv` and, where
# tensors are known, `memory.csv`.
# %% [parameters]
from pathlib import Path

folder = Path("{{folder}}")  # of the run; relative to where this notebook stands
figures = None  # a folder, to write every figure there as PDF too
max_streams = 24  # rows of the timeline
# %% [cells setup]
# %% [cells timeline]
# %% [markdown]
# ## In numbers
# %%
metrics = json.loads((folder / "metrics.json").read_text())
tasks, about = load_trace(folder / "trace.json")
bounds = metrics["lower_bounds"]
pd.DataFrame([
    ("origin", about["origin"]),
    ("machine", metrics["machine"]),
    ("makespan", f"{metrics['makespan_us'] / 1000:.3f} ms"),
    ("largest lower bound", f"{bounds['largest'].replace('_', ' ')}; the makespan is {bounds['gap']:.3f} times it"),
    ("device in use (utilization)", f"{metrics['utilization']:.1%}"),
    ("some task runs (busy share)", f"{metrics['busy_share']:.1%}"),
    ("critical and other tasks overlap", f"{metrics['overlap_share']:.1%}"),
    ("host busy", f"{metrics['host_busy_share']:.1%}"),
    ("idle before a launch", f"{metrics['host_bound_share']:.1%}"),
    ("tasks, streams, events", f"{metrics['tasks']}, {metrics['streams']}, {metrics['events']}"),
    ("peak memory", f"{metrics['peak_memory_bytes'] / 2**20:.1f} MiB"),
], columns=["", "value"]).set_index("")
# %% [markdown]
# ## Timeline
#
# A row is a stream, a bar is a task. Dark outlines: the critical path of the run, the chain of tasks that made it as long as it is.
# %%
figure, axes = plt.subplots(figsize=(7, 1.4 + 0.26 * min(max_streams, max(1, tasks.stream.nunique()))))
axes.set_title(about["title"])
draw_timeline(axes, tasks, about, max_streams, [step["task"] for step in metrics["critical_path"]["tasks"]])
show(figure, "timeline")
# %% [markdown]
# ## Utilization over time
#
# How much of the device is in use, and how many tasks run at once. Curves are means over 200 equal slices of the run. Where kernels
# share units, the curve spreads the work of a task evenly over its span and is cut at 100 %, so its mean can lie below the
# utilization in the table above.
# %%
SLICES = 200


def sliced_mean(times, values, end):
    """Mean of a step function over equal slices."""
    edges = np.linspace(0, end, SLICES + 1)
    steps = np.append(times, end)
    area = np.concatenate([[0], np.cumsum(values * np.diff(steps))])
    # Between two steps the area grows linearly, so that interpolation is exact.
    return edges, np.diff(np.interp(edges, steps, area)) / (edges[1] - edges[0])


use = pd.read_csv(folder / "utilization.csv")
end_us = metrics["makespan_us"]
figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(7, 4))
edges, share = sliced_mean(use.time_us.to_numpy(), use.utilization.to_numpy(), end_us)
upper.stairs(100 * share, edges / 1000, fill=True, color=COLORS[0], alpha=0.8)
upper.axhline(100 * share.mean(), color=COLORS[1], linestyle="--", label=f"mean {share.mean():.0%}")
upper.set(ylabel="units in use (%)", ylim=(0, 102), title="Utilization of the device")
upper.legend(loc="lower right", frameon=True)
for number, (column, label) in enumerate([("running", "all tasks"), ("critical", "critical tasks")]):
    edges, mean = sliced_mean(use.time_us.to_numpy(), use[column].to_numpy(), end_us)
    lower.stairs(mean, edges / 1000, label=label, color=COLORS[number], linestyle=DASHES[number], linewidth=1.2)
lower.set(ylabel="tasks running", xlabel="time (ms)", ylim=(0, None))
lower.legend(loc="upper right", frameon=True)
show(figure, "utilization")
# %% [markdown]
# ## Memory over time
#
# What the tensors of the graph hold; parameters and their gradients stay for the whole run.
# %%
if (folder / "memory.csv").exists():
    memory = pd.read_csv(folder / "memory.csv")
    figure, axes = plt.subplots()
    for number, (device, curve) in enumerate(memory.groupby("device", sort=False)):
        if number == len(COLORS):
            break  # more devices than can be told apart: the first ones
        times = np.append(curve.time_us.to_numpy(), end_us)
        axes.stairs(curve.bytes / 2**20, times / 1000, baseline=None, label=device, color=COLORS[number],
                    linestyle=DASHES[number], linewidth=1.2)
    axes.set(xlabel="time (ms)", ylabel="held by tensors (MiB)", ylim=(0, None), title="Memory")
    axes.legend(loc="lower right")
    show(figure, "memory")
else:
    print("The graph of this run has no tensors: nothing is known of its memory.")
# %% [markdown]
# ## Where the time goes
#
# Operations by the sum of their durations, and what the steps of the critical path waited for before they ran.
# %%
use_of = pd.DataFrame(metrics["operation_use"]).head(12)
waited = "waited_for_"
path = metrics["critical_path"]
waits = pd.Series({name[len(waited):-len("_us")].replace("_", " "): value for name, value in path.items()
                   if name.startswith(waited) and name.endswith("_us") and value > 0}, dtype=float).sort_values()
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.2))
left.barh(use_of.operation[::-1], use_of.running_ps[::-1] * 1e-9, label="all tasks", **filling(0))
left.barh(use_of.operation[::-1], use_of.on_critical_path_ps[::-1] * 1e-9, height=0.4, label="on the critical path", **filling(1))
left.set(xlabel="sum of durations (ms)", title="Operations")
left.legend(loc="lower right", frameon=True)
right.barh(waits.index, waits, color=COLORS[2])
right.set(xlabel="waited (us)", title="Waits on the critical path")
show(figure, "where")
# %% [markdown]
# ## Roofline
#
# Each point is an operation: what it computes per byte it moves, and how fast it was in this run, on average over its tasks. The filled
# points are this run; hollow ones are the cost model's estimate of a task alone on the device, so the distance between them is
# interference of co-running kernels. Lines are nominal peaks.
# %%
operations = pd.read_csv(folder / "operations.csv")
points = operations[(operations.flops_per_task > 0) & (operations.bytes_per_task > 0) & (operations.mean_us > 0)].copy()
if len(points):
    points["intensity"] = points.flops_per_task / points.bytes_per_task
    points["reached"] = points.flops_per_task / points.mean_us * 1e-6  # TFLOP/s
    points["alone"] = points.flops_per_task / points.alone_us.where(points.alone_us > 0) * 1e-6
    figure, axes = plt.subplots(figsize=(7, 4.6))
    left, right = points.intensity.min() / 4, points.intensity.max() * 4
    roofs = points[["device", "peak_tflop_per_s", "bandwidth_gb_per_s"]].dropna().drop_duplicates()
    right = max([right] + [2e3 * roof.peak_tflop_per_s / roof.bandwidth_gb_per_s for roof in roofs.itertuples()])
    line = np.geomspace(left, right, 200)
    for number, roof in enumerate(roofs.itertuples()):
        axes.plot(line, np.minimum(roof.peak_tflop_per_s, line * roof.bandwidth_gb_per_s * 1e-3), color="#444444",
                  linestyle=DASHES[number % len(DASHES)], linewidth=1.2,
                  label=f"{roof.peak_tflop_per_s:g} TFLOP/s, {roof.bandwidth_gb_per_s:g} GB/s")
    largest = points.groupby("operation").mean_us.sum().sort_values(ascending=False).index
    for number, operation in enumerate(largest):
        of_it = points[points.operation == operation]
        look = {key: value for key, value in style(number).items() if key in ("color", "marker")}
        label = operation if number < 12 else None
        axes.scatter(of_it.intensity, of_it.reached, s=45, label=label, zorder=3, **look)
        axes.scatter(of_it.intensity, of_it.alone, s=45, facecolors="none", edgecolors=look["color"],
                     marker=look["marker"], zorder=3)
    axes.set(xscale="log", yscale="log", xlabel="arithmetic intensity (FLOP/byte)", ylabel="TFLOP/s",
             title="Roofline")
    plain_ticks(axes.xaxis)
    plain_ticks(axes.yaxis)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    show(figure, "roofline")
else:
    print("Of the operations of this run only durations are known, not FLOPs and bytes.")
# %% [markdown]
# The same as a table; `bound` is what limits one task alone, `slowed` how much longer tasks took in this run.
# %%
table = operations.assign(slowed=operations.mean_us / operations.alone_us)
table[["operation", "kind", "tasks", "flops_per_task", "bytes_per_task", "alone_us", "mean_us", "slowed", "bound"]].round(3)
# %% [markdown]
# ## Again, in Python
#
# The same scenario, simulated here: `again` has the columns of its tasks, its plan, and why it takes as long as it does.
# %%
if sl:
    again = sl.read_run(folder)
    print(again)
again.explain() if sl else None
