// SPDX-License-Identifier: Apache-2.0
// The runs of a timeline viewer: what the page embeds, decoded, and what can be asked of it. timeline.js follows.
'use strict';

function readableTime(ps) {
  const size = Math.abs(ps);
  const [scale, unit] = size >= 1e12 ? [1e12, 's'] : size >= 1e9 ? [1e9, 'ms'] : size >= 1e6 ? [1e6, 'us'] : size >= 1e3 ? [1e3, 'ns'] : [1, 'ps'];
  return `${Number((ps / scale).toPrecision(6))} ${unit}`;
}
function readableBytes(bytes) {
  const power = Math.min(4, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  return `${Number((bytes / 2 ** (10 * power)).toPrecision(4))} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`;
}
const percent = (share) => `${Number((100 * share).toPrecision(3))} %`;

/// Numbers of 7 bits a byte, signs in the lowest bit; `sums`: each is the difference from the one before.
function decode(text, sums) {
  const bytes = atob(text);
  let count = 0;
  for (let i = 0; i < bytes.length; ++i) if (bytes.charCodeAt(i) < 128) ++count;
  const numbers = new Float64Array(count);
  let value = 0;
  let scale = 1;
  let last = 0;
  for (let i = 0, at = 0; i < bytes.length; ++i) {
    const byte = bytes.charCodeAt(i);
    value += (byte & 127) * scale;
    scale *= 128;
    if (byte >= 128) continue;
    const number = value % 2 === 1 ? -(value + 1) / 2 : value / 2;
    last = sums ? last + number : number;
    numbers[at++] = last;
    value = 0;
    scale = 1;
  }
  return numbers;
}
/// First index in [begin, end) of which the value is at least `value`.
function lowerBound(values, value, begin, end) {
  while (begin < end) {
    const middle = (begin + end) >> 1;
    if (values[middle] < value) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

/// A run of the page's data.
class Run {
  constructor(data) {
    Object.assign(this, {title: data.title, facts: data.facts, makespan: data.makespan, text: data.names});
    this.start = decode(data.start, true);
    this.duration = decode(data.duration, false);
    this.submitted = decode(data.wait, false).map((wait, i) => this.start[i] - wait);
    this.operation = Uint32Array.from(decode(data.operation, true));
    this.share = decode(data.share, false);
    this.by = Int32Array.from(decode(data.by, false), (step, i) => (step === 0 ? -1 : i - step));
    this.cause = Uint8Array.from(decode(data.cause, false));
    this.critical = Uint32Array.from(decode(data.critical, true));
    this.tasks = this.start.length;
    this.rows = [];
    let first = 0;
    for (const row of data.rows) {
      this.rows.push({name: row.name, first, end: first + row.tasks});
      first += row.tasks;
    }
    this.busy = new Float64Array(this.tasks + 1);  // sum of durations before
    for (let i = 0; i < this.tasks; ++i) this.busy[i + 1] = this.busy[i] + this.duration[i];
    this.hosts = data.hosts.map((host) => ({
      name: host.name, start: decode(host.start, true), duration: decode(host.duration, false), blocked: decode(host.blocked, false),
    }));
    this.utilization = this.curve(data.utilization, 1e-4);
    this.memory = data.memory.map((one) => ({...one, ...this.curve(one, 1)}));
    this.found = [];
    this.offset = 0;
    this.change = null;
  }
  curve(data, scale) {
    const at = decode(data.at, true);
    const value = decode(data.value, true).map((one) => one * scale);
    const sum = new Float64Array(at.length);
    for (let i = 1; i < at.length; ++i) sum[i] = sum[i - 1] + value[i - 1] * (at[i] - at[i - 1]);
    return {at, value, sum};
  }
  end(i) {
    return this.start[i] + this.duration[i];
  }
  /// Where each name begins in the text of all.
  get names() {
    if (!this.begins) {
      this.begins = new Uint32Array(this.tasks + 1);
      for (let i = 1, at = 0; i <= this.tasks; ++i) {
        at = this.text.indexOf('\n', at) + 1;
        this.begins[i] = at;
      }
    }
    return this.begins;
  }
  name(i) {
    return this.text.slice(this.names[i], this.names[i + 1] - 1);
  }
  rowOf(i) {
    return this.rows.find((row) => i < row.end);
  }
  find(name) {
    const found = this.text.startsWith(`${name}\n`) ? 0 : this.text.indexOf(`\n${name}\n`) + 1;
    if (found === 0 && !this.text.startsWith(`${name}\n`)) return -1;
    return lowerBound(this.names, found, 0, this.tasks);
  }
  search(words) {
    if (!this.folded) this.folded = this.text.toLowerCase();
    const found = [];
    for (let at = this.folded.indexOf(words); at >= 0; at = this.folded.indexOf(words, at)) {
      const task = lowerBound(this.names, at + 1, 0, this.tasks + 1) - 1;
      found.push(task);
      at = this.names[task + 1];
    }
    return found;
  }
  /// Who each task let start, and the last end that follows from it.
  get released() {
    if (this.children) return this.children;
    const begins = new Uint32Array(this.tasks + 2);
    for (const by of this.by) if (by >= 0) ++begins[by + 2];
    for (let i = 2; i < begins.length; ++i) begins[i] += begins[i - 1];
    const list = new Uint32Array(begins[this.tasks + 1]);
    for (let i = 0; i < this.tasks; ++i) if (this.by[i] >= 0) list[begins[this.by[i] + 1]++] = i;
    const latest = Float64Array.from(this.start, (start, i) => start + this.duration[i]);
    const open = new Uint32Array(this.tasks);
    for (const by of this.by) if (by >= 0) ++open[by];
    const ready = [];
    for (let i = 0; i < this.tasks; ++i) if (open[i] === 0) ready.push(i);
    while (ready.length > 0) {
      const i = ready.pop();
      const by = this.by[i];
      if (by < 0) continue;
      latest[by] = Math.max(latest[by], latest[i]);
      if (--open[by] === 0) ready.push(by);
    }
    this.children = {begins, list, latest};
    return this.children;
  }
  releasedBy(i) {
    const {begins, list} = this.released;
    return list.subarray(begins[i], begins[i + 1]);
  }
  back(i) {
    const path = [];
    for (let at = this.by[i]; at >= 0 && path.length <= this.tasks; at = this.by[at]) path.push(at);
    return path;
  }
  forward(i) {
    const path = [];
    const {latest} = this.released;
    for (let at = i; path.length <= this.tasks;) {
      let next = -1;
      for (const one of this.releasedBy(at)) if (next < 0 || latest[one] > latest[next]) next = one;
      if (next < 0) return path;
      path.push(next);
      at = next;
    }
    return path;
  }
}
