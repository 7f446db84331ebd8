/**
 * Finds the spans of a flow that matter at a position or on a line.
 * Lines must be asked for in ascending order: each span is then looked at about once, however long the flow.
 */
import type { Flow, FlowKind, FlowSpan } from "./flow.js";

export class SpanIndex {
  readonly #spans: readonly FlowSpan[];
  /** Block-level kinds never overlap themselves, so a binary search finds the one. */
  readonly #byKind = new Map<FlowKind, FlowSpan[]>();
  #next = 0;
  #live: FlowSpan[] = [];

  constructor(flow: Flow) {
    this.#spans = flow.spans;
    for (const span of flow.spans) {
      const same = this.#byKind.get(span.kind);
      if (same === undefined) this.#byKind.set(span.kind, [span]);
      else same.push(span);
    }
  }

  covering(at: number, kind: "quote" | "code-block" | "marker"): FlowSpan | undefined {
    const spans = this.#byKind.get(kind) ?? [];
    let low = 0;
    let high = spans.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((spans[middle]?.end ?? 0) > at) high = middle;
      else low = middle + 1;
    }
    const span = spans[low];
    return span !== undefined && span.start <= at ? span : undefined;
  }

  within(start: number, end: number): FlowSpan[] {
    this.#live = this.#live.filter((span) => span.end > start);
    for (let span = this.#spans[this.#next]; span !== undefined && span.start < end; span = this.#spans[this.#next]) {
      if (span.end > start) this.#live.push(span);
      this.#next++;
    }
    return this.#live;
  }
}
