// SPDX-License-Identifier: Apache-2.0
// The timeline viewer: one or several runs on a canvas. It draws O(pixels * log tasks) a frame, whatever the number of
// tasks: those narrower than a pixel are merged, as high as the share of the pixel in which any of them ran.
'use strict';

(() => {
  const labelWidth = 150;
  const axisHeight = 26;
  const sizes = {title: 22, host: 14, stream: 22, curve: 54};
  const sampled = 32;  // tasks of a pixel that its colour is chosen from

  function make(tag, facts, ...content) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(facts || {})) element.setAttribute(name, value);
    element.append(...content);
    return element;
  }
  // ---- the page
  const data = JSON.parse(document.getElementById('runs').textContent);
  const runs = data.runs.map((run) => new Run(run));
  const hidden = new Set();  // operations
  const view = {from: 0, to: 1, top: 0, critical: runs.length === 1, differences: false};
  let selected = null;  // {run, task, back, forward}
  let found = [];  // [{run, task}]
  let foundAt = -1;
  const whole = () => Math.max(1, ...runs.map((run) => run.makespan + run.offset));

  const canvas = make('canvas', {tabindex: '0', role: 'application', 'aria-label': 'timeline: drag or arrow keys move, wheel or + and - zoom, click a task for its facts'});
  const pen = canvas.getContext('2d');
  const facts = make('aside', {'aria-live': 'polite'});
  const range = make('output', {class: 'range'});
  const search = make('input', {type: 'search', placeholder: 'search tasks  /', 'aria-label': 'search tasks'});
  const hits = make('span', {class: 'count', role: 'status'});
  const hint = make('div', {class: 'hint', role: 'tooltip', hidden: ''});
  const button = (text, title, action) => {
    const made = make('button', {type: 'button', title}, text);
    made.addEventListener('click', () => action(made));
    return made;
  };
  const toggle = (text, title, name) => {
    const made = button(text, title, () => {
      view[name] = !view[name];
      made.setAttribute('aria-pressed', String(view[name]));
      redraw();
    });
    made.setAttribute('aria-pressed', String(view[name]));
    return made;
  };

  function build() {
    const controls = make('div', {class: 'controls'}, search, hits,
      button('\u2212', 'zoom out  -', () => zoom(2)), button('+', 'zoom in  +', () => zoom(0.5)), button('fit', 'all of it  0', fit),
      toggle('critical path', 'outline the tasks that decided the makespan', 'critical'));
    if (runs.length > 1) {
      const compare = toggle('differences', 'colour each task by its duration against the first run', 'differences');
      compare.addEventListener('click', () => {
        if (view.differences) runs.forEach(measureChange);
        buildLegend();
        redraw();
      });
      const align = make('select', {'aria-label': 'align runs'}, ...['start', 'end', 'selected task'].map((way) => make('option', {}, way)));
      align.addEventListener('change', () => alignBy(align.value));
      controls.append(compare, make('label', {}, 'align by ', align));
    }
    controls.append(range);
    document.body.append(make('header', {}, make('h1', {}, document.title), controls, make('div', {class: 'series'})),
      make('main', {}, canvas, facts), hint);
    buildLegend();
    showFacts();
  }
  function buildLegend() {
    const entry = (color, name, index) => {
      const mark = make('span', {class: 'mark'});
      mark.style.background = color;
      const made = make(index === undefined ? 'span' : 'button', {}, mark, name);
      if (index === undefined) return made;
      made.setAttribute('aria-pressed', String(!hidden.has(index)));
      made.addEventListener('click', () => {
        if (!hidden.delete(index)) hidden.add(index);
        made.setAttribute('aria-pressed', String(!hidden.has(index)));
        redraw();
      });
      return made;
    };
    const legend = document.querySelector('.series');
    if (view.differences) {
      legend.replaceChildren(entry(changeColor(0.5), 'half as long as in the first run'), entry(changeColor(1), 'equal'),
        entry(changeColor(2), 'twice as long'), entry('#CC79A7', 'only in this run'));
    } else {
      legend.replaceChildren(...data.operations.map((name, index) => entry(data.colors[index], name, index)).slice(0, 60));
      if (data.operations.length > 60) legend.append(` and ${data.operations.length - 60} more`);
    }
  }

  function measureChange(run) {
    if (run.change) return;
    const other = run === runs[0] ? runs[1] : runs[0];
    const there = new Map();
    for (let i = 0; i < other.tasks; ++i) there.set(other.name(i), i);
    run.change = new Float32Array(run.tasks);
    for (let i = 0; i < run.tasks; ++i) {
      const match = there.get(run.name(i));
      if (match === undefined) continue;  // 0: only here
      run.change[i] = other.duration[match] > 0 ? Math.max(run.duration[i] / other.duration[match], 1e-3) : run.duration[i] > 0 ? 1e3 : 1;
    }
  }
  function changeColor(ratio) {
    if (!ratio) return '#CC79A7';
    const place = Math.max(-1, Math.min(1, Math.log2(ratio)));
    const [to, share] = [place < 0 ? [0, 114, 178] : [213, 94, 0], Math.abs(place)];
    return `#${to.map((channel) => Math.round(225 + (channel - 225) * share).toString(16).padStart(2, '0')).join('')}`;
  }
  function colorOf(run, i) {
    return view.differences ? changeColor(run.change[i]) : data.colors[run.operation[i]];
  }

  function alignBy(way) {
    const longest = Math.max(...runs.map((run) => run.makespan));
    const name = selected && way === 'selected task' ? selected.run.name(selected.task) : null;
    const starts = runs.map((run) => {
      const task = name === null ? -1 : run.find(name);
      return task < 0 ? 0 : run.start[task];
    });
    runs.forEach((run, k) => {
      run.offset = way === 'end' ? longest - run.makespan : name === null ? 0 : Math.max(...starts) - starts[k];
    });
    redraw();
  }

  // ---- drawing
  let canvasWidth = 0;  // as drawn last: asking the canvas would lay out the page each time
  const plotWidth = () => Math.max(50, canvasWidth - labelWidth - 12);
  const perPixel = () => (view.to - view.from) / plotWidth();
  const timeAt = (x) => view.from + (x - labelWidth) * perPixel();
  let lanes = [];  // what is drawn where: [{kind, run, row, top, height}]

  function layOut() {
    lanes = [];
    lastLane = null;
    let top = axisHeight - view.top;
    const add = (kind, height, rest) => {
      lanes.push({kind, top, height, ...rest});
      top += height + 3;
    };
    for (const run of runs) {
      add('title', sizes.title, {run});
      for (const row of run.hosts) add('host', sizes.host, {run, row});
      for (const row of run.rows) add('stream', sizes.stream, {run, row});
      if (run.utilization.at.length > 1) add('utilization', sizes.curve, {run, row: {name: 'utilization', ...run.utilization}});
      for (const row of run.memory) add('memory', sizes.curve, {run, row});
      top += 8;
    }
    return top + view.top;
  }

  // Bars are written as pixels, which is far faster than as many calls of a canvas; texts come after them.
  let image = null;
  let pixels = null;
  let texts = [];
  const words = new Map();  // by colour: the pixel, which is mixed with white where `faint`
  function wordOf(color, faint) {
    const key = faint ? `${color}f` : color;
    let word = words.get(key);
    if (word === undefined) {
      const channels = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)).map((one) => (faint ? Math.round(255 - 0.3 * (255 - one)) : one));
      word = (0xff000000 | (channels[2] << 16) | (channels[1] << 8) | channels[0]) >>> 0;
      words.set(key, word);
    }
    return word;
  }
  /// Within the plot and beneath the axis.
  function bar(left, top, width, height, word) {
    const ratio = image.width / canvasWidth;
    const from = Math.round(Math.max(left, labelWidth) * ratio);
    const to = Math.max(from + 1, Math.round(Math.min(left + width, labelWidth + plotWidth()) * ratio));
    if (left + width <= labelWidth || left >= labelWidth + plotWidth()) return;
    const step = image.width;
    const end = Math.min(Math.round((top + height) * ratio), image.height) * step;
    for (let line = Math.round(Math.max(top, axisHeight) * ratio) * step; line < end; line += step) {
      if (to - from > 16) pixels.fill(word, line + from, line + to);
      else for (let x = from; x < to; ++x) pixels[line + x] = word;
    }
  }
  function text(words, x, y, space, color) {
    texts.push({words, x, y, space, color});
  }

  let waiting = false;
  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }
  function draw() {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvasWidth = width;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const total = layOut();
    view.top = Math.max(0, Math.min(view.top, total - height));
    layOut();
    if (!image || image.width !== canvas.width || image.height !== canvas.height) {
      image = pen.createImageData(canvas.width, canvas.height);
      pixels = new Uint32Array(image.data.buffer);
    }
    pixels.fill(0xffffffff);
    texts = [];
    const ticks = ticksOf();
    for (const tick of ticks) bar(xOf(tick), 0, 1, height, wordOf('#ececec'));
    for (const lane of lanes) if (lane.top + lane.height > axisHeight && lane.top < height) drawLane(lane, width);
    pen.putImageData(image, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = '#555';
    pen.textAlign = 'center';
    pen.font = '11px "DejaVu Sans", Verdana, sans-serif';
    for (const tick of ticks) pen.fillText(readableTime(Number(tick.toPrecision(12))), xOf(tick), 15);
    pen.textAlign = 'left';
    pen.save();
    pen.beginPath();
    pen.rect(0, axisHeight, width, height - axisHeight);
    pen.clip();
    for (const one of texts) {
      pen.fillStyle = one.color;
      pen.fillText(one.words, one.x, one.y, one.space);
    }
    drawMarks();
    pen.restore();
    range.textContent = `${readableTime(view.from)} to ${readableTime(view.to)} of ${readableTime(whole())}`;
  }
  const xOf = (time) => Math.round(labelWidth + (time - view.from) / perPixel());
  function ticksOf() {
    const rough = perPixel() * 110;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const ticks = [];
    for (let tick = Math.ceil(view.from / step) * step; tick <= view.to; tick += step) ticks.push(tick);
    return ticks;
  }
  function drawLane(lane, width) {
    const {kind, run, row, top, height} = lane;
    if (kind === 'title') {
      text(`${run.title}  \u00b7  ${run.facts}`, 8, top + 15, width - 16, '#000');
      return;
    }
    bar(labelWidth, top, width, height, wordOf('#f7f7f7'));
    if (kind === 'stream') drawTasks(run, row, top, height);
    if (kind === 'host') drawHost(run, row, top, height);
    if (kind === 'utilization' || kind === 'memory') drawCurve(run, row, top, height, kind);
    const label = kind !== 'memory' ? row.name : run.memory.length > 1 ? row.device : 'memory';
    text(label, 8, top + Math.min(height - 3, 15), labelWidth - 14, '#222');
    if (kind === 'memory') text(`peak ${readableBytes(row.peak)}`, 8, top + 31, labelWidth - 14, '#222');
  }
  /// Calls paint(first, end, left, width, share) for what a row shows: single bars, or all of a pixel.
  function eachBar(start, duration, busy, first, end, offset, paint) {
    const pixel = perPixel();
    const from = view.from - offset;
    let i = Math.max(first, lowerBound(start, from, first, end) - 1);
    while (i < end && start[i] < view.to - offset) {
      const left = labelWidth + (start[i] - from) / pixel;
      const width = duration[i] / pixel;
      if (width >= 1) {
        if (left + width >= labelWidth) paint(i, i + 1, left, width, 1);
        ++i;
        continue;
      }
      const column = Math.floor(left);
      const next = lowerBound(start, from + (column + 1 - labelWidth) * pixel, i + 1, end);
      if (column >= labelWidth) paint(i, next, column, 1, Math.min(1, busy ? (busy[next] - busy[i]) / pixel : 1));
      i = next;
    }
  }
  /// The longest of some tasks of a pixel that are shown.
  function representative(run, first, end) {
    let best = -1;
    for (let i = first, step = Math.max(1, (end - first) / sampled); i < end; i += step) {
      const task = Math.floor(i);
      if (hidden.has(run.operation[task])) continue;
      if (best < 0 || run.duration[task] > run.duration[best]) best = task;
    }
    return best;
  }
  function drawTasks(run, row, top, height) {
    const dimmed = found.length > 0;
    eachBar(run.start, run.duration, run.busy, row.first, row.end, run.offset, (first, end, left, width, share) => {
      const task = representative(run, first, end);
      if (task < 0) return;
      const tall = height * Math.max(share, 0.12);
      bar(left, top + height - tall, width > 3 ? width - 1 : width, tall, wordOf(colorOf(run, task), dimmed));
      if (width < 34) return;
      const shown = Math.max(left, labelWidth);
      const space = Math.min(left + width, labelWidth + plotWidth()) - shown - 6;
      const fits = Math.floor(space / 6.8);
      if (fits < 3) return;
      const name = run.name(task);
      const color = view.differences || dimmed ? '#000' : data.text_colors[run.operation[task]];
      text(name.length > fits ? `${name.slice(0, fits - 1)}\u2026` : name, shown + 3, top + height - 7, space + 4, color);
    });
  }
  function drawHost(run, row, top, height) {
    eachBar(row.start, row.duration, null, 0, row.start.length, run.offset, (first, end, left, width) => {
      bar(left, top, width, height, wordOf(row.blocked[first] ? '#dddddd' : '#8c8c8c'));
    });
  }
  function drawCurve(run, row, top, height, kind) {
    const {at, value, sum} = row;
    const most = kind === 'memory' ? Math.max(row.peak, 1) : 1;
    const last = at[at.length - 1];
    const sumAt = (time) => {
      const i = Math.max(0, lowerBound(at, time, 0, at.length) - 1);
      return sum[i] + value[i] * Math.max(0, Math.min(time, last) - at[i]);
    };
    const word = wordOf(kind === 'memory' ? '#CC79A7' : '#0072B2');
    for (let x = labelWidth; x < labelWidth + plotWidth(); ++x) {
      const from = Math.max(0, timeAt(x) - run.offset);
      const to = timeAt(x + 1) - run.offset;
      if (to <= 0 || from >= last) continue;
      let level = (sumAt(to) - sumAt(from)) / (to - from);
      if (kind === 'memory') {  // no peak is lost
        const begin = Math.max(0, lowerBound(at, from, 0, at.length) - 1);
        for (let i = begin; i < at.length && at[i] < to; ++i) level = i === begin ? value[i] : Math.max(level, value[i]);
      }
      const tall = (height * Math.min(level, most)) / most;
      bar(x, top + height - tall, 1, tall, word);
    }
  }
  let lastLane = null;
  function placeOf(run, task) {
    const holds = (one) => one.kind === 'stream' && one.run === run && task >= one.row.first && task < one.row.end;
    if (!lastLane || !holds(lastLane)) lastLane = lanes.find(holds);
    const lane = lastLane;
    const left = labelWidth + (run.start[task] + run.offset - view.from) / perPixel();
    return {left, width: Math.max(run.duration[task] / perPixel(), 2), top: lane.top, height: lane.height};
  }
  function outline(run, tasks, color, thick) {
    pen.strokeStyle = color;
    pen.fillStyle = color;
    pen.lineWidth = thick;
    const [from, to, pixel] = [view.from - run.offset, view.to - run.offset, perPixel()];
    let drawn = -Infinity;  // when the mark that was drawn last ends
    for (const task of tasks) {
      const start = run.start[task];
      const duration = run.duration[task];
      const again = start >= drawn - pixel && start + duration <= drawn;
      if (again || start + duration < from || start > to) continue;
      const {left, width, top, height} = placeOf(run, task);
      if (width > 5) {
        pen.strokeRect(left, top + 0.5, width, height - 1);
      } else {
        pen.fillRect(left, top - 1, width, 2 + thick);
        drawn = start + Math.max(duration, 2 * pixel);
      }
    }
  }
  function drawMarks() {
    pen.save();
    pen.beginPath();
    pen.rect(labelWidth, 0, plotWidth(), canvas.clientHeight);
    pen.clip();
    if (view.critical) for (const run of runs) outline(run, run.critical, '#000', 1);
    for (const run of runs) outline(run, run.found, '#D55E00', 2);
    if (selected) {
      const {run, task, back, forward} = selected;
      outline(run, back, '#0072B2', 2);
      outline(run, forward, '#009E73', 2);
      connect(run, [...back.slice(0, 400).reverse(), task], '#0072B2');
      connect(run, [task, ...forward.slice(0, 400)], '#009E73');
      outline(run, [task], '#000', 3);
      for (const {run: other, task: same} of selected.others) outline(other, [same], '#000', 3);
    }
    pen.restore();
  }
  function connect(run, tasks, color) {
    pen.strokeStyle = color;
    pen.lineWidth = 1;
    pen.beginPath();
    for (let i = 1; i < tasks.length; ++i) {
      const [from, to] = [placeOf(run, tasks[i - 1]), placeOf(run, tasks[i])];
      pen.moveTo(from.left + from.width, from.top + from.height / 2);
      pen.lineTo(to.left, to.top + to.height / 2);
    }
    pen.stroke();
  }

  // ---- moving
  function show(from, to) {
    const all = whole();
    const span = Math.max(10, Math.min(to - from, all * 1.04));
    view.from = Math.max(-0.02 * all, Math.min(from, all * 1.02 - span));
    view.to = view.from + span;
    redraw();
  }
  const fit = () => show(0, whole());
  const zoom = (factor, at = (view.from + view.to) / 2) => show(at - (at - view.from) * factor, at + (view.to - at) * factor);
  const pan = (share) => show(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));
  function bringIntoView(run, task) {
    const middle = (run.start[task] + run.end(task)) / 2 + run.offset;
    const span = Math.min(view.to - view.from, Math.max(run.duration[task] * 20, whole() / 2000));
    const seen = run.start[task] + run.offset >= view.from && run.end(task) + run.offset <= view.to;
    if (!seen || run.duration[task] / perPixel() < 3) show(middle - span / 2, middle + span / 2);
    layOut();
    const {top, height} = placeOf(run, task);
    if (top < axisHeight || top + height > canvas.clientHeight) view.top += top - canvas.clientHeight / 2;
  }

  // ---- facts
  function select(run, task, move) {
    const name = run.name(task);
    selected = {run, task, back: run.back(task), forward: run.forward(task), others: []};
    for (const other of runs) {
      const same = other === run ? -1 : other.find(name);
      if (same >= 0) selected.others.push({run: other, task: same});
    }
    if (move) bringIntoView(run, task);
    showFacts();
    redraw();
  }
  function link(run, task) {
    return button(run.name(task), 'show this task', () => select(run, task, true));
  }
  function line(list, name, ...content) {
    list.append(make('dt', {}, name), make('dd', {}, ...content));
  }
  function showFacts() {
    if (!selected) {
      const text = 'Click a task for its facts. Drag or arrow keys move, the wheel or + and - zoom, 0 shows all, / searches.';
      facts.replaceChildren(make('p', {class: 'note'}, text));
      return;
    }
    const {run, task, back, forward, others} = selected;
    const list = make('dl');
    line(list, 'operation', `${data.operations[run.operation[task]]} (${data.kinds[run.operation[task]]})`);
    line(list, 'runs on', run.rowOf(task).name);
    line(list, 'start', readableTime(run.start[task]));
    line(list, 'end', readableTime(run.end(task)));
    line(list, 'duration', readableTime(run.duration[task]));
    line(list, 'compute units', percent(run.share[task] / 1e4));
    line(list, 'submitted', `${readableTime(run.submitted[task])}, ${readableTime(run.start[task] - run.submitted[task])} before it started`);
    const by = run.by[task];
    const cause = data.causes[run.cause[task]];
    if (by < 0) line(list, 'bounded by', cause);
    else line(list, 'bounded by', `${cause}: `, link(run, by), ` which ended ${readableTime(run.start[task] - run.end(by))} before`);
    const next = run.releasedBy(task);
    line(list, 'released', next.length === 0 ? 'no task' : '', ...[...next.slice(0, 6)].flatMap((one) => [link(run, one), ' ']), next.length > 6 ? `and ${next.length - 6} more` : '');
    line(list, 'on the critical path', run.critical.includes(task) ? 'yes' : 'no');
    const sum = (tasks) => tasks.reduce((total, one) => total + run.duration[one], 0);
    line(list, 'chain back', `${back.length} tasks, ${readableTime(sum(back))} of them running; `, back.length > 0 ? link(run, back[back.length - 1]) : 'none', ' is its first');
    line(list, 'chain forward', `${forward.length} tasks, ${readableTime(sum(forward))} of them running; `, forward.length > 0 ? link(run, forward[forward.length - 1]) : 'none', ' is its last');
    for (const {run: other, task: same} of others) {
      const change = run.duration[task] > 0 ? `, ${percent(other.duration[same] / run.duration[task])} of this` : '';
      line(list, `in ${other.title}`, `${readableTime(other.duration[same])}${change}; starts ${readableTime(other.start[same] - run.start[task])} later; `, link(other, same));
    }
    facts.replaceChildren(make('h2', {}, run.name(task)), make('p', {class: 'note'}, run.title), list);
  }

  function searchFor(text) {
    const words = text.trim().toLowerCase();
    for (const run of runs) run.found = words === '' ? [] : run.search(words);
    found = runs.flatMap((run) => run.found.map((task) => ({run, task})));
    foundAt = -1;
    hits.textContent = words === '' ? '' : `${found.length} found`;
    redraw();
  }
  function stepFound(step) {
    if (found.length === 0) return;
    foundAt = (foundAt + step + found.length) % found.length;
    hits.textContent = `${foundAt + 1} of ${found.length}`;
    select(found[foundAt].run, found[foundAt].task, true);
  }

  // ---- input
  function taskAt(event) {
    const lane = lanes.find((one) => one.kind === 'stream' && event.offsetY >= one.top && event.offsetY < one.top + one.height);
    if (!lane || event.offsetX < labelWidth) return null;
    const {run, row} = lane;
    const [from, to] = [timeAt(event.offsetX - 1) - run.offset, timeAt(event.offsetX + 1) - run.offset];
    const first = Math.max(row.first, lowerBound(run.start, from, row.first, row.end) - 1);
    const end = lowerBound(run.start, to, first, row.end);
    let best = -1;
    for (let i = first, step = Math.max(1, (end - first) / 1000); i < end; i += step) {
      const task = Math.floor(i);
      if (run.end(task) < from || hidden.has(run.operation[task])) continue;
      if (best < 0 || run.duration[task] > run.duration[best]) best = task;
    }
    return best < 0 ? null : {run, task: best};
  }
  function listen() {
    let drag = null;
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (event.shiftKey) {
        view.top += event.deltaY || event.deltaX;
        redraw();
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        pan(event.deltaX / plotWidth());
      } else {
        zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), timeAt(event.offsetX));
      }
    }, {passive: false});
    canvas.addEventListener('pointerdown', (event) => {
      drag = {x: event.offsetX, y: event.offsetY, from: view.from, to: view.to, top: view.top, moved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (drag) {
        const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
        drag.moved = drag.moved || Math.abs(dx) + Math.abs(dy) > 4;
        if (!drag.moved) return;
        view.top = drag.top - dy;
        const shift = (drag.to - drag.from) / plotWidth() * dx;
        show(drag.from - shift, drag.to - shift);
        return;
      }
      const under = taskAt(event);
      hint.hidden = !under;
      if (!under) return;
      const {run, task} = under;
      hint.textContent = `${run.name(task)}\n${readableTime(run.duration[task])} from ${readableTime(run.start[task])}`;
      hint.style.left = `${Math.min(event.clientX + 14, window.innerWidth - hint.offsetWidth - 6)}px`;
      hint.style.top = `${event.clientY + 16}px`;
    });
    canvas.addEventListener('pointerleave', () => { hint.hidden = true; });
    canvas.addEventListener('pointerup', (event) => {
      const click = drag && !drag.moved;
      drag = null;
      if (!click) return;
      const under = taskAt(event);
      if (under) {
        select(under.run, under.task, false);
      } else {
        selected = null;
        showFacts();
        redraw();
      }
    });
    const keys = {
      ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), '+': () => zoom(0.6), '=': () => zoom(0.6), '-': () => zoom(1 / 0.6), 0: fit,
      ArrowUp: () => { view.top -= 60; redraw(); }, ArrowDown: () => { view.top += 60; redraw(); },
      '[': () => selected && selected.run.by[selected.task] >= 0 && select(selected.run, selected.run.by[selected.task], true),
      ']': () => selected && selected.forward.length > 0 && select(selected.run, selected.forward[0], true),
      '/': () => search.focus(),
    };
    document.addEventListener('keydown', (event) => {
      if (event.target === search || event.target.tagName === 'SELECT' || event.ctrlKey || event.metaKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    search.addEventListener('input', () => searchFor(search.value));
    search.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') stepFound(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') canvas.focus();
    });
    new ResizeObserver(redraw).observe(canvas);
  }

  build();
  listen();
  fit();
  // timeline.html#NAME shows the task of this name.
  function showNamed() {
    const name = decodeURIComponent(window.location.hash.slice(1));
    const run = name === '' ? undefined : runs.find((one) => one.find(name) >= 0);
    if (run) select(run, run.find(name), true);
  }
  window.addEventListener('hashchange', showNamed);
  showNamed();
})();
