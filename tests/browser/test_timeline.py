# SPDX-License-Identifier: Apache-2.0
"""The timeline viewer in a browser."""

import csv
import json
import re

from pages import HOSTILE, PageTest, hostile_graph, main, schedlab, write_spec


def microseconds(text):
    value, unit = re.match(r"([-\d.e]+) (ps|ns|us|ms|s)$", text).groups()
    return float(value) * {"ps": 1e-6, "ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}[unit]


class Timeline(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for policy in ("single_stream", "critical_first"):
            spec = write_spec(
                cls.folder, policy, workload={"kind": "lstm", "pass": "backward", "layers": 3, "steps": 8, "batch": 32, "hidden": 256, "granularity": "fine"},
                machine="v100", policy=policy,
            )
            schedlab("simulate", spec, "--out", cls.folder / f"run_{policy}")
        schedlab("plot", cls.folder / "run_single_stream", cls.folder / "run_critical_first", "--out", cls.folder / "both.html")
        spec = write_spec(cls.folder, "hostile", workload={"kind": "file", "path": str(hostile_graph(cls.folder))}, machine="v100", policy="single_stream")
        schedlab("simulate", spec, "--out", cls.folder / "hostile")

    def open(self, page="run_critical_first/timeline.html", fragment=""):
        self.browser.open(self.folder / page, fragment)

    def range(self):
        self.browser.frame()
        found = re.match(r"(.*) to (.*) of (.*)", self.js("document.querySelector('.range').textContent"))
        return [microseconds(text) for text in found.groups()]

    def facts(self):
        return self.js("Object.fromEntries([...document.querySelectorAll('dt')].map(name => [name.textContent, name.nextSibling.textContent]))")

    def search(self, text):
        self.js("document.querySelector('input[type=search]').select()")
        self.browser.type(text)
        self.browser.key("Enter", "\r")

    def test_the_whole_run_is_shown_and_drawn(self):
        self.open()
        metrics = json.loads((self.folder / "run_critical_first" / "metrics.json").read_text())
        begin, end, whole = self.range()
        self.assertAlmostEqual(whole, metrics["makespan_us"], delta=1e-3 * whole)
        self.assertLessEqual(begin, 0)
        self.assertGreaterEqual(end, whole * 0.999)
        colours = "(() => { const canvas = document.querySelector('canvas'); const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data; const seen = new Set(); for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]); return seen.size; })()"
        self.assertGreater(self.js(colours), 10)
        self.look("timeline_wide")

    def test_the_wheel_zooms_about_the_pointer_and_dragging_moves(self):
        self.open()
        before = self.range()
        self.browser.wheel(600, 300, -300)
        zoomed = self.range()
        self.assertLess(zoomed[1] - zoomed[0], 0.5 * (before[1] - before[0]))
        self.browser.drag(600, 300, 400, 300)
        moved = self.range()
        self.assertGreater(moved[0], zoomed[0])
        self.assertAlmostEqual(moved[1] - moved[0], zoomed[1] - zoomed[0], delta=1e-3 * before[2])
        self.browser.key("0", "0")
        self.assertAlmostEqual(self.range()[1], before[1], delta=1e-3 * before[2])

    def test_keys_zoom_and_move(self):
        self.open()
        before = self.range()
        self.browser.key("+", "+")
        zoomed = self.range()
        self.assertAlmostEqual(zoomed[1] - zoomed[0], 0.6 * (before[1] - before[0]), delta=1e-2 * before[2])
        self.browser.key("ArrowRight")
        self.assertGreater(self.range()[0], zoomed[0])

    def test_search_shows_the_facts_of_what_it_finds(self):
        self.open()
        spans = json.loads((self.folder / "run_critical_first" / "trace.json").read_text())["traceEvents"]
        task = max((one for one in spans if one.get("ph") == "X" and one.get("cat") != "host" and "task" in one.get("args", {})), key=lambda one: one["ts"], default=None)
        name = task["name"] if task else "cell"
        self.search(name)
        self.assertRegex(self.js("document.querySelector('.count').textContent"), r"^1 of \d+$")
        self.assertIn(name, self.js("document.querySelector('aside h2').textContent"))
        facts = self.facts()
        if task:
            self.assertAlmostEqual(microseconds(facts["start"]), task["ts"], delta=1e-3 * task["ts"])
            self.assertAlmostEqual(microseconds(facts["duration"]), task["dur"], delta=1e-3 * task["dur"])
        for fact in ("operation", "runs on", "end", "compute units", "submitted", "bounded by", "released", "chain back", "chain forward"):
            self.assertIn(fact, facts)

    def test_a_click_selects_a_task_and_its_cause_leads_back(self):
        self.open()
        # The row of a stream: the first pixel with a task's colour below the host's.
        place = self.js("""(() => { const canvas = document.querySelector('canvas'); const box = canvas.getBoundingClientRect();
            for (let y = 70; y < 200; y += 3) for (let x = 700; x < 900; x += 4) {
              canvas.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + x, clientY: box.top + y}));
              if (!document.querySelector('.hint').hidden) return [box.left + x, box.top + y]; } return null; })()""")
        self.assertIsNotNone(place)
        self.browser.click(*place)
        self.assertRegex(self.facts()["bounded by"], r": .+ which ended .* before")
        link = "[...document.querySelectorAll('dt')].find(name => name.textContent === 'bounded by').nextSibling.querySelector('button')"
        cause = self.js(f"{link}.textContent")
        self.js(f"{link}.click()")
        self.browser.frame()
        self.assertEqual(self.js("document.querySelector('aside h2').textContent"), cause)
        self.assertNotEqual(self.facts()["released"], "no task")
        self.look("timeline_selected")

    def test_the_critical_path_ends_with_the_run_and_its_chain_is_whole(self):
        self.open()
        metrics = json.loads((self.folder / "run_critical_first" / "metrics.json").read_text())
        steps = [step["task"] for step in metrics["critical_path"]["tasks"]]
        self.open(fragment="#" + steps[-1])
        self.assertEqual(self.facts()["on the critical path"], "yes")
        self.assertRegex(self.facts()["chain forward"], "^0 tasks")
        # The chain of causes is the critical path.
        self.assertTrue(self.facts()["chain back"].startswith(f"{len(steps) - 1} tasks"))

    def test_two_runs_are_aligned_and_their_differences_marked(self):
        self.open("both.html")
        self.search("cell")
        facts = self.facts()
        self.assertTrue(any(name.startswith("in ") for name in facts), facts)
        picture = "document.querySelector('canvas').toDataURL()"
        before = self.js(picture)
        self.js("[...document.querySelectorAll('button')].find(one => one.textContent === 'differences').click()")
        self.browser.frame()
        self.assertNotEqual(self.js(picture), before)
        self.assertIn("twice as long", self.js("document.querySelector('.series').textContent"))
        self.look("timeline_two_runs")
        whole = self.range()[2]
        self.js("(select => { select.value = 'end'; select.dispatchEvent(new Event('change')); })(document.querySelector('select'))")
        self.assertAlmostEqual(self.range()[2], whole, delta=1e-3 * whole)
        self.browser.resize(420, 800)
        self.browser.frame()
        self.look("timeline_narrow")

    def test_hostile_names_stay_text(self):
        self.open("hostile/timeline.html")
        self.assertIsNone(self.js("window.hostile"))
        self.assertEqual(self.js("document.querySelectorAll('img').length"), 0)
        self.search("window.hostile = 2")
        self.assertEqual(self.js("document.querySelector('aside h2').textContent"), f"{HOSTILE[1]} 1")
        self.assertIsNone(self.js("window.hostile"))
        with open(self.folder / "hostile" / "operations.csv", encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        self.assertIn("'=cmd()", cells)  # what a spreadsheet shows as text
        self.assertFalse([cell for cell in cells if cell.startswith("=")])


if __name__ == "__main__":
    main()
