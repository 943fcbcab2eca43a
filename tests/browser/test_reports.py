# SPDX-License-Identifier: Apache-2.0
"""Reports in a browser: what a reader can do with them, and how they read without scripts."""

import csv

from pages import HOSTILE, PageTest, hostile_graph, main, schedlab, write_spec

TABLE = "table.all"  # all results


class Reports(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        spec = write_spec(
            cls.folder, "small",
            workload={"kind": "lstm", "pass": "backward", "layers": [2, 4], "steps": 10, "batch": [16, 32, 64], "hidden": 256},
            machine=["p100", "v100"], policy=["single_stream", "diagonal", "critical_first"],
        )
        schedlab("sweep", spec, "--out", cls.folder / "sweep", "--timelines", "best")
        hostile = write_spec(
            cls.folder, "hostile", description=HOSTILE[0],
            workload={"kind": "file", "path": str(hostile_graph(cls.folder))}, machine="v100",
            policy=["single_stream", "heft"],
        )
        schedlab("sweep", hostile, "--out", cls.folder / "hostile", "--timelines", "all")

    def open(self, folder="sweep"):
        self.browser.open(self.folder / folder / "report.html")

    def column(self, name, only_shown=True):
        """The texts of a column of the table of all results, in the order on the page."""
        return self.js(
            f"""(() => {{ const table = document.querySelector('{TABLE}:last-of-type') && [...document.querySelectorAll('{TABLE}')].pop();
            const at = [...table.tHead.rows[0].cells].findIndex(head => head.textContent === '{name}');
            return [...table.tBodies[0].rows].filter(row => !{str(only_shown).lower()} || row.offsetParent)
              .map(row => row.cells[at].textContent); }})()"""
        )

    def press_head(self, name):
        self.js(
            f"""(() => {{ const table = [...document.querySelectorAll('{TABLE}')].pop();
            const head = [...table.tHead.rows[0].cells].find(head => head.textContent === '{name}');
            head.querySelector('button').focus(); }})()"""
        )
        self.browser.key("Enter", "\r")

    def sort_of(self, name):
        return self.js(
            f"""[...[...document.querySelectorAll('{TABLE}')].pop().tHead.rows[0].cells]
            .find(head => head.textContent === '{name}').getAttribute('aria-sort')"""
        )

    def filter_all(self, text):
        self.js("[...document.querySelectorAll('input[aria-label=\"filter rows\"]')].pop().select()")
        self.browser.type(text)

    def test_the_answer_and_a_picture_come_first(self):
        self.open()
        first = self.js("[...document.body.children].slice(0, 3).map(element => element.tagName)")
        self.assertEqual(first, ["H1", "P", "FIGURE"])
        answer = self.js("document.querySelector('p.lead').textContent")
        self.assertRegex(answer, r"^\w+ is fastest in \d+ of 12 cases")
        self.assertRegex(answer, r"times( \([^)]*\))? as fast as single_stream")
        self.assertLessEqual(answer.count(". "), 2)
        self.look("sweep_wide")

    def test_a_column_of_numbers_is_sorted_by_value_and_then_back(self):
        self.open()
        before = self.column("makespan_us", only_shown=False)
        self.press_head("makespan_us")
        rising = [float(text) for text in self.column("makespan_us", only_shown=False)]
        self.assertEqual(rising, sorted(rising))
        self.assertEqual(self.sort_of("makespan_us"), "ascending")
        self.press_head("makespan_us")
        falling = [float(text) for text in self.column("makespan_us", only_shown=False)]
        self.assertEqual(falling, rising[::-1])
        self.assertEqual(self.sort_of("makespan_us"), "descending")
        self.press_head("makespan_us")
        self.assertEqual(self.column("makespan_us", only_shown=False), before)
        self.assertIsNone(self.sort_of("makespan_us"))

    def test_sorting_keeps_the_order_of_equal_rows(self):
        self.open()
        self.press_head("policy")
        policies = self.column("policy", only_shown=False)
        numbers = [int(text) for text in self.column("scenario", only_shown=False)]
        self.assertEqual(policies, sorted(policies))
        for policy in set(policies):
            own = [number for number, name in zip(numbers, policies) if name == policy]
            self.assertEqual(own, sorted(own))

    def test_a_filter_takes_words_and_conditions(self):
        self.open()
        self.filter_all("diagonal layers=4")
        self.assertEqual(set(self.column("policy")), {"diagonal"})
        self.assertEqual(set(self.column("layers")), {"4"})
        self.filter_all("batch>20 batch<40")
        self.assertEqual(set(self.column("batch")), {"32"})
        self.assertEqual(len(self.column("batch")), 12)
        self.assertIn("12 of 36 rows", self.js("document.body.textContent"))
        self.filter_all("no_such_word")
        self.assertEqual(self.column("batch"), [])

    def test_a_long_table_is_folded_until_asked_for(self):
        self.open()
        self.assertEqual(len(self.column("scenario")), 25)
        self.js("[...document.querySelectorAll('.controls > button')].pop().click()")
        self.assertEqual(len(self.column("scenario")), 36)

    def test_the_pointer_shows_the_value_of_a_bar(self):
        self.open()
        self.browser.hover(*self.browser.place("svg g[data-hint], svg g:has(> title)"))
        hint = self.js("document.querySelector('.hint').hidden ? '' : document.querySelector('.hint').textContent")
        self.assertRegex(hint, r"^[\w, =]+: [\d.]+")
        self.browser.hover(2, 2)
        self.assertTrue(self.js("document.querySelector('.hint').hidden"))

    def test_a_legend_hides_its_series(self):
        self.open()
        shown = "[...document.querySelectorAll('[data-legend][role=button]')[0].closest('svg').querySelectorAll('[data-series]')].filter(one => getComputedStyle(one).display !== 'none').length"
        before = self.js(shown)
        self.click("[data-legend][role=button]")
        self.assertLess(self.js(shown), before)
        self.assertEqual(self.js("document.querySelector('[data-legend][role=button]').getAttribute('aria-pressed')"), "false")
        self.click("[data-legend][role=button]")
        self.assertEqual(self.js(shown), before)

    def test_rows_with_a_timeline_lead_to_it(self):
        self.open()
        target = self.js("[...document.querySelectorAll('td a')].map(one => one.getAttribute('href'))[0]")
        self.assertRegex(target, r"^timelines/scenario_\d+\.html$")
        self.assertTrue((self.folder / "sweep" / target).is_file())

    def test_the_reader_chooses_the_axes_of_a_chart(self):
        self.open()
        columns = self.js("[...document.querySelector('.explore select[name=across]').options].map(one => one.text)")
        for name in ("layers", "batch", "machine", "policy", "makespan_us"):
            self.assertIn(name, columns)
        picture = "document.querySelector('.explore canvas').toDataURL()"
        before = self.js(picture)
        self.js("(select => { select.value = [...select.options].find(one => one.text === 'batch').value; select.dispatchEvent(new Event('change')); })(document.querySelector('.explore select[name=across]'))")
        self.browser.frame()
        self.assertNotEqual(self.js(picture), before)
        self.assertIn("36 of 36 results", self.js("document.querySelector('.explore').textContent"))
        self.browser.place(".explore canvas")
        self.look("sweep_explorer")

    def test_without_scripts_and_in_print_all_is_there_and_no_control(self):
        self.open()
        self.browser.media("print")
        self.assertEqual(len(self.column("scenario")), 36)
        self.assertEqual(self.js("[...document.querySelectorAll('.controls')].filter(one => one.offsetParent).length"), 0)
        self.browser.media("")
        self.browser.scripts(False)
        try:
            self.browser.call("Page.reload")
            self.browser.frame_by_time()
            self.assertEqual(self.js("document.querySelectorAll('.controls, .sort').length"), 0)
            self.assertEqual(len(self.column("scenario")), 36)
            self.assertTrue(self.js("document.querySelector('.explore').hidden"))
        finally:
            self.browser.scripts(True)

    def test_a_narrow_page_does_not_overflow(self):
        self.browser.resize(420, 800)
        self.open()
        self.assertLessEqual(self.js("document.documentElement.scrollWidth"), 420)
        self.look("sweep_narrow")

    def test_hostile_names_stay_text_in_pages_and_tables(self):
        self.open("hostile")
        self.assertIsNone(self.js("window.hostile"))
        self.assertEqual(self.js("document.querySelectorAll('img').length"), 0)
        self.assertIn(HOSTILE[0], self.js("document.body.textContent"))
        with open(self.folder / "hostile" / "results.csv", encoding="utf-8", newline="") as file:
            self.assertEqual(len({len(row) for row in csv.reader(file)}), 1)
        for picture in (self.folder / "hostile" / "timelines").glob("*.svg"):
            self.browser.open(picture)
            self.assertIsNone(self.js("window.hostile"))
        for page in (self.folder / "hostile" / "timelines").glob("*.html"):
            self.browser.open(page)
            self.assertIsNone(self.js("window.hostile"))
            self.assertEqual(self.js("document.querySelectorAll('img').length"), 0)


if __name__ == "__main__":
    main()
