# SPDX-License-Identifier: Apache-2.0
# Reading and drawing a trace; used by notebooks about runs and recordings.
# %%
import gzip

from matplotlib.transforms import ScaledTranslation


def load_trace(path):
    """The tasks of a trace (times in microseconds) and the names of its devices and streams."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        document = json.load(file)
    about = document["otherData"]
    rows = []
    for event in document["traceEvents"]:
        if event["ph"] != "X" or "task" not in event.get("args", {}):
            continue
        args = event["args"]
        rows.append({"task": event["name"], "kind": event["cat"], "operation": args["operation"],
                     "critical": args["critical"], "device": args["device"], "stream": args["stream"],
                     "start_us": args["started_ps"] * 1e-6, "end_us": args["ended_ps"] * 1e-6,
                     "submitted_us": args["submitted_ps"] * 1e-6})
    tasks = pd.DataFrame(rows, columns=["task", "kind", "operation", "critical", "device", "stream",
                                        "start_us", "end_us", "submitted_us"])
    tasks["duration_us"] = tasks.end_us - tasks.start_us
    return tasks, about


def draw_timeline(axes, tasks, about, max_streams, critical_path=()):
    """One row per stream, one bar per task; those on the critical path of the run are outlined."""
    unit, scale = ("ms", 1e-3) if tasks.end_us.max() >= 1000 else ("us", 1.0)
    streams = sorted(tasks.stream.unique())[:max_streams]
    outlined = 0.003 * tasks.end_us.max()  # an outline would hide shorter bars
    on_path = tasks.task.isin(list(critical_path))
    operations = tasks.groupby("operation").duration_us.sum().sort_values(ascending=False).index
    for row, stream in enumerate(streams):
        on_stream = tasks[tasks.stream == stream]
        for number, operation in enumerate(operations):
            bars = on_stream[on_stream.operation == operation]
            edges = np.where(bars.duration_us < outlined, "none", np.where(on_path[bars.index], "black", "white"))
            spans, height = list(zip(bars.start_us * scale, bars.duration_us * scale)), (row - 0.4, 0.8)
            axes.broken_barh(spans, height, **filling(number))
            axes.broken_barh(spans, height, linewidth=0.4, facecolors="none", edgecolors=list(edges))
    names = [about["streams"][stream].get("name") or f"stream {stream}" for stream in streams]
    axes.set_yticks(range(len(streams)), names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"time ({unit})")
    shown = list(operations[:16])
    handles = [plt.Rectangle((0, 0), 1, 1, **filling(number)) for number in range(len(shown))]
    if on_path.any():
        handles.append(plt.Rectangle((0, 0), 1, 1, facecolor="none", edgecolor="black", linewidth=0.8))
        shown.append("critical path")
    below = axes.transAxes + ScaledTranslation(0, -0.42, axes.figure.dpi_scale_trans)  # inches: under the axis label
    columns = max(2, min(6, len(shown), 90 // (8 + max(map(len, shown), default=0))))
    axes.legend(handles, shown, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=below, ncol=columns)
    if tasks.stream.nunique() > max_streams:
        axes.set_title(axes.get_title() + f" (the first {max_streams} of {tasks.stream.nunique()} streams)")
