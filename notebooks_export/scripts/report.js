// SPDX-License-Identifier: Apache-2.0
// What a reader can do with a report. The page reads well without it: every control is made here.
'use strict';

(() => {
  const rowsShown = 25;  // of a longer table, until all are asked for
  const rowsFiltered = 8;  // a table of more rows gets a filter

  function make(tag, facts, ...content) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(facts || {})) element.setAttribute(name, value);
    element.append(...content);
    return element;
  }

  // ---- numbers as reports print them: "1.23 ms", "4.5 GiB", "12 %", "3,000"
  const units = {
    ps: 1e-6, ns: 1e-3, us: 1, '\u00b5s': 1, ms: 1e3, s: 1e6, min: 6e7, h: 3.6e9,
    B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40,
  };
  function numberOf(text) {
    const parts = /^([-+]?(?:[\d,]+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(?:\s*([A-Za-z\u00b5]+|%)?.*)$/.exec(text.trim());
    if (!parts) return NaN;
    return Number(parts[1].replace(/,/g, '')) * (units[parts[2]] || 1);
  }
  const words = new Intl.Collator('en', {numeric: true});

  // ---- filters: words that a row must hold, and conditions such as speed-up>1.2
  function conditionsOf(query, columns) {
    const names = columns.map((name) => name.toLowerCase().replace(/\s+/g, '_'));
    return query.toLowerCase().split(/\s+/).filter(Boolean).map((term) => {
      const parts = /^([^<>=]+)(<=|>=|=|<|>)(.+)$/.exec(term);
      const column = parts ? names.indexOf(parts[1]) : -1;
      if (column < 0) return (cells) => cells.some((cell) => cell.toLowerCase().includes(term));
      const [, , sign, wanted] = parts;
      const limit = numberOf(wanted);
      return (cells) => {
        const value = numberOf(cells[column]);
        if (sign === '=') return Number.isNaN(limit) || Number.isNaN(value) ? cells[column].toLowerCase() === wanted : value === limit;
        if (sign === '<') return value < limit;
        if (sign === '>') return value > limit;
        return sign === '<=' ? value <= limit : value >= limit;
      };
    });
  }
  const passes = (conditions, cells) => conditions.every((condition) => condition(cells));

  // ---- tables
  class SortedTable {
    constructor(table) {
      this.body = table.tBodies[0];
      this.heads = [...table.tHead.rows[0].cells];
      this.rows = [...this.body.rows].map((row) => ({row, cells: [...row.cells].map((cell) => cell.textContent)}));
      this.order = [...this.rows];
      this.all = this.rows.length <= rowsShown;
      this.conditions = [];
      this.heads.forEach((head, column) => {
        const button = make('button', {type: 'button', class: 'sort', title: 'sort'}, ...head.childNodes);
        button.addEventListener('click', () => this.sort(column));
        head.append(button);
      });
      const holder = table.closest('.scroll') || table;
      if (this.rows.length > rowsFiltered) holder.before(this.makeFilter());
      if (!this.all) holder.after(this.makeMore());
      this.show();
    }

    makeFilter() {
      const input = make('input', {type: 'search', placeholder: 'filter: words, or column>1.2', 'aria-label': 'filter rows'});
      this.count = make('span', {class: 'count', role: 'status'});
      input.addEventListener('input', () => {
        this.conditions = conditionsOf(input.value, this.heads.map((head) => head.textContent));
        this.show();
      });
      return make('div', {class: 'controls'}, input, this.count);
    }

    makeMore() {
      this.more = make('button', {type: 'button'});
      this.more.addEventListener('click', () => {
        this.all = !this.all;
        this.show();
      });
      return make('div', {class: 'controls'}, this.more);
    }

    /// Rising, falling, and as it was. Cells without a value come last either way; equal ones keep their order.
    sort(column) {
      const head = this.heads[column];
      const next = {ascending: 'descending', descending: null}[head.getAttribute('aria-sort')];
      const direction = next === undefined ? 'ascending' : next;
      this.heads.forEach((other) => other.removeAttribute('aria-sort'));
      this.order = [...this.rows];
      if (direction) {
        head.setAttribute('aria-sort', direction);
        const sign = direction === 'ascending' ? 1 : -1;
        const numbers = head.classList.contains('n');
        const keys = new Map(this.rows.map((one) => [one, numbers ? numberOf(one.cells[column] || '') : one.cells[column] || '']));
        const missing = (key) => (numbers ? Number.isNaN(key) : key === '');
        this.order.sort((a, b) => {
          const left = keys.get(a);
          const right = keys.get(b);
          if (missing(left) || missing(right)) return missing(left) - missing(right);
          return sign * (numbers ? left - right : words.compare(left, right));
        });
      }
      this.body.append(...this.order.map((one) => one.row));
      this.show();
    }

    show() {
      let found = 0;
      for (const {row, cells} of this.order) {
        const out = !passes(this.conditions, cells);
        row.classList.toggle('out', out);
        if (!out) ++found;
        row.classList.toggle('more', !out && !this.all && found > rowsShown);
      }
      if (this.count) this.count.textContent = found === this.rows.length ? `${found} rows` : `${found} of ${this.rows.length} rows`;
      if (!this.more) return;
      this.more.parentNode.classList.toggle('out', found <= rowsShown);
      this.more.textContent = this.all ? `show ${rowsShown} rows` : `show all ${found} rows`;
    }
  }

  // ---- what is under the pointer
  const hint = make('div', {class: 'hint', role: 'tooltip', hidden: ''});
  function showHint(text, event) {
    hint.hidden = !text;
    if (!text) return;
    hint.textContent = text;
    const right = event.clientX + 14 + hint.offsetWidth > document.documentElement.clientWidth;
    hint.style.left = `${Math.max(4, right ? event.clientX - hint.offsetWidth - 10 : event.clientX + 14)}px`;
    hint.style.top = `${Math.max(4, event.clientY - hint.offsetHeight - 8)}px`;
  }
  function titleOf(element, svg) {
    for (; element && element !== svg; element = element.parentNode) {
      if (element.dataset && element.dataset.hint) return element.dataset.hint;
      const title = [...element.children].find((child) => child.tagName === 'title');
      if (!title) continue;
      element.dataset.hint = title.textContent;  // the browser's own, later one would hide it
      title.remove();
      element.setAttribute('aria-label', element.dataset.hint);
      return element.dataset.hint;
    }
    return '';
  }

  function activate(element, action) {
    element.setAttribute('role', 'button');
    element.setAttribute('tabindex', '0');
    element.addEventListener('click', action);
    element.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      action();
    });
  }

  function enhancePicture(svg) {
    svg.addEventListener('pointermove', (event) => showHint(titleOf(event.target, svg), event));
    svg.addEventListener('pointerleave', () => showHint(''));
    for (const legend of svg.querySelectorAll('[data-legend]')) {
      const series = [...svg.querySelectorAll('[data-series]')].filter((one) => one.dataset.series === legend.dataset.legend);
      if (series.length === 0) continue;
      legend.setAttribute('aria-pressed', 'true');
      activate(legend, () => {
        const shown = legend.getAttribute('aria-pressed') !== 'true';
        legend.setAttribute('aria-pressed', String(shown));
        for (const one of series) one.classList.toggle('out', !shown);
      });
    }
  }

  // ---- a chart of the embedded rows, along axes that the reader chooses
  const colors = ['#0072B2', '#D55E00', '#009E73', '#E69F00', '#56B4E9', '#CC79A7', '#999999', '#000000'];
  function ticksOf(low, high, log) {
    if (log) {
      const ticks = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
        for (const digit of [1, 2, 5]) ticks.push(digit * 10 ** power);
      }
      const inside = ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
      return inside.length > 8 ? inside.filter((tick) => /^1/.test(tick.toExponential())) : inside;
    }
    const rough = (high - low) / 6 || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const ticks = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) ticks.push(tick);
    return ticks;
  }
  const readable = (value) => (Math.abs(value) >= 1e6 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(1) : String(Number(value.toPrecision(4))));

  class Explorer {
    constructor(holder) {
      const data = JSON.parse(holder.querySelector('script').textContent);
      this.columns = data.columns;
      this.pages = data.pages;
      this.rows = this.columns[0].values.length;
      this.query = '';
      this.hidden = new Set();
      this.canvas = make('canvas', {role: 'img', 'aria-label': 'chart of all results'});
      this.legend = make('div', {class: 'series'});
      this.filter = make('input', {type: 'search', placeholder: 'filter: words, or column>1.2', 'aria-label': 'filter points'});
      this.filter.addEventListener('input', () => this.update());
      const numeric = (column) => !column.words;
      this.choices = {
        x: this.choice('across', data.x, () => true),
        y: this.choice('upwards', data.y, numeric),
        colour: this.choice('colour', data.colour, () => true),
      };
      const labels = Object.values(this.choices).map((one) => one.label);
      this.note = make('span', {class: 'count', role: 'status'});
      holder.append(make('div', {class: 'controls'}, ...labels, this.filter, this.note), this.canvas, this.legend);
      holder.hidden = false;
      this.canvas.addEventListener('pointermove', (event) => this.hover(event));
      this.canvas.addEventListener('pointerleave', () => showHint(''));
      this.canvas.addEventListener('click', (event) => {
        const page = this.pageOf(this.nearest(event));
        if (page) window.location.href = page;
      });
      new ResizeObserver(() => this.draw()).observe(holder);
      this.update();
    }

    choice(name, chosen, wanted) {
      const select = make('select', {name});
      this.columns.forEach((column, index) => {
        if (wanted(column)) select.append(make('option', column.name === chosen ? {value: index, selected: ''} : {value: index}, column.name));
      });
      select.addEventListener('change', () => {
        this.hidden.clear();
        this.update();
      });
      return {select, label: make('label', {}, `${name} `, select)};
    }
    column(role) {
      return this.columns[Number(this.choices[role].select.value)];
    }
    text(column, row) {
      const value = column.values[row];
      if (value === null) return '';
      return column.words ? column.words[value] : String(value);
    }
    pageOf(row) {
      return row === undefined || row < 0 ? undefined : this.pages[this.text(this.columns[0], row)];
    }

    update() {
      const conditions = conditionsOf(this.filter.value, this.columns.map((column) => column.name));
      const [x, y, colour] = [this.column('x'), this.column('y'), this.column('colour')];
      const groups = new Map();
      this.points = [];
      for (let row = 0; row < this.rows; ++row) {
        if (x.values[row] === null || y.values[row] === null) continue;
        if (conditions.length > 0 && !passes(conditions, this.columns.map((column) => this.text(column, row)))) continue;
        const group = this.text(colour, row);
        if (!groups.has(group)) groups.set(group, []);
        groups.get(group).push(row);
      }
      const names = [...groups.keys()].sort(words.compare);
      this.groups = names.map((name, index) => ({name, rows: groups.get(name), color: colors[index % colors.length]}));
      this.note.textContent = `${this.groups.reduce((sum, group) => sum + group.rows.length, 0)} of ${this.rows} results`;
      this.legend.replaceChildren(...this.groups.slice(0, 40).map((group) => this.entry(group)));
      if (this.groups.length > 40) this.legend.append(` and ${this.groups.length - 40} more`);
      this.draw();
    }
    entry(group) {
      const mark = make('span', {class: 'mark'});
      mark.style.background = group.color;
      const entry = make('span', {'aria-pressed': String(!this.hidden.has(group.name))}, mark, group.name || '(none)');
      activate(entry, () => {
        if (!this.hidden.delete(group.name)) this.hidden.add(group.name);
        entry.setAttribute('aria-pressed', String(!this.hidden.has(group.name)));
        this.draw();
      });
      return entry;
    }

    scale(column, rows, from, to) {
      if (column.words) {
        const used = [...new Set(rows.map((row) => column.values[row]))].sort((a, b) => words.compare(column.words[a], column.words[b]));
        const place = new Map(used.map((value, index) => [value, from + ((to - from) * (index + 0.5)) / used.length]));
        const step = Math.ceil(used.length / 12);
        return {at: (value) => place.get(value), ticks: used.filter((_, index) => index % step === 0).map((value) => [place.get(value), column.words[value]])};
      }
      let low = Infinity;
      let high = -Infinity;
      for (const row of rows) {
        low = Math.min(low, column.values[row]);
        high = Math.max(high, column.values[row]);
      }
      const log = low > 0 && high / low > 8;
      if (!log && low > 0 && low < 0.6 * high) low = 0;
      if (low === high) [low, high] = [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
      const map = log ? Math.log : (value) => value;
      const at = (value) => from + ((to - from) * (map(value) - map(low))) / (map(high) - map(low));
      return {at, ticks: ticksOf(low, high, log).map((tick) => [at(tick), readable(tick)])};
    }

    draw() {
      const width = this.canvas.parentNode.clientWidth;
      const height = Math.min(420, Math.max(260, width * 0.5));
      const ratio = window.devicePixelRatio || 1;
      this.canvas.width = width * ratio;
      this.canvas.height = height * ratio;
      this.canvas.style.height = `${height}px`;
      const pen = this.canvas.getContext('2d');
      pen.scale(ratio, ratio);
      pen.font = '11px "DejaVu Sans", Verdana, sans-serif';
      const shown = this.groups.filter((group) => !this.hidden.has(group.name));
      const rows = shown.flatMap((group) => group.rows);
      this.points = [];
      if (rows.length === 0) {
        pen.fillText('nothing to show', 20, 30);
        return;
      }
      const [xColumn, yColumn] = [this.column('x'), this.column('y')];
      const x = this.scale(xColumn, rows, 76, width - 16);
      const y = this.scale(yColumn, rows, height - 40, 12);
      this.drawAxes(pen, x, y, width, height, xColumn.name, yColumn.name);
      for (const group of shown) this.drawGroup(pen, group, x, y, xColumn, yColumn);
    }
    drawAxes(pen, x, y, width, height, xName, yName) {
      pen.strokeStyle = '#e2e2e2';
      pen.fillStyle = '#222';
      pen.textAlign = 'center';
      for (const [at, text] of x.ticks) {
        pen.strokeRect(at, 12, 0, height - 52);
        pen.fillText(text.length > 14 ? `${text.slice(0, 13)}\u2026` : text, at, height - 24);
      }
      pen.fillText(xName, (76 + width - 16) / 2, height - 6);
      pen.textAlign = 'right';
      for (const [at, text] of y.ticks) {
        pen.strokeRect(76, at, width - 92, 0);
        pen.fillText(text, 70, at + 4);
      }
      pen.save();
      pen.rotate(-Math.PI / 2);
      pen.textAlign = 'center';
      pen.fillText(yName, -(height - 28) / 2, 12);
      pen.restore();
    }
    drawGroup(pen, group, x, y, xColumn, yColumn) {
      const byX = new Map();
      pen.fillStyle = group.color;
      pen.globalAlpha = group.rows.length > 2000 ? 0.25 : 0.7;
      const radius = group.rows.length > 2000 ? 1.5 : 3;
      for (const row of group.rows) {
        const value = xColumn.values[row];
        const at = [x.at(value), y.at(yColumn.values[row])];
        this.points.push({row, x: at[0], y: at[1]});
        pen.fillRect(at[0] - radius, at[1] - radius, 2 * radius, 2 * radius);
        if (!byX.has(value)) byX.set(value, []);
        byX.get(value).push(yColumn.values[row]);
      }
      pen.globalAlpha = 1;
      if (byX.size < 2) return;
      pen.strokeStyle = group.color;
      pen.lineWidth = 1.5;
      pen.beginPath();
      const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
      const line = [...byX].map(([value, all]) => [x.at(value), y.at(median(all))]).sort((a, b) => a[0] - b[0]);
      for (const [left, top] of line) pen.lineTo(left, top);
      pen.stroke();
      pen.lineWidth = 1;
    }

    nearest(event) {
      const [left, top] = [event.offsetX, event.offsetY];
      let best = 14 * 14;
      let row;
      for (const point of this.points) {
        const distance = (point.x - left) ** 2 + (point.y - top) ** 2;
        if (distance >= best) continue;
        best = distance;
        row = point.row;
      }
      return row;
    }
    hover(event) {
      const row = this.nearest(event);
      const page = this.pageOf(row);
      this.canvas.style.cursor = page ? 'pointer' : 'default';
      if (row === undefined) return showHint('');
      const facts = this.columns.map((column) => [column.name, this.text(column, row)]).filter(([, text]) => text !== '');
      return showHint(facts.map(([name, text]) => `${name}: ${text}`).join('\n') + (page ? '\nclick: its timeline' : ''), event);
    }
  }

  document.body.append(hint);
  for (const table of document.querySelectorAll('table')) {
    if (table.tHead && table.tBodies.length > 0 && table.tBodies[0].rows.length > 1) new SortedTable(table);
  }
  for (const svg of document.querySelectorAll('figure > svg')) enhancePicture(svg);
  for (const holder of document.querySelectorAll('.explore')) new Explorer(holder);
})();
