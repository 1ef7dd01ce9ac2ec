// The metrics, parsed from their text as Prometheus would.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Gauges, ServerMetrics } from '#src/server/metrics.js';

const idle: Gauges = {
  connections: () => 0,
  sessions: () => 0,
  processes: () => ({ running: 0, exited: 0, closed: 0 }),
  retainedBytes: () => 0,
  stdinQueuedBytes: () => 0,
  sendQueuedBytes: () => 0,
  flows: () => 0,
  flowBytes: () => 0,
  fileHandles: () => 0,
  fileWatches: () => 0,
};

interface Exposition {
  readonly types: ReadonlyMap<string, string>;
  /** By name and labels as written in the text. */
  readonly samples: ReadonlyMap<string, number>;
}

/** Strict: every line must be one of three kinds, and no sample may be repeated or lack its type. */
function parse(text: string): Exposition {
  const types = new Map<string, string>();
  const samples = new Map<string, number>();
  assert.ok(text.endsWith('\n'));
  for (const line of text.slice(0, -1).split('\n')) {
    if (/^# HELP [a-z_]+ \S.*$/.test(line)) continue;
    const type = /^# TYPE (?<name>[a-z_]+) (?<type>counter|gauge|histogram)$/.exec(line)?.groups;
    if (type) {
      assert.ok(!types.has(type['name'] ?? ''), line);
      types.set(type['name'] ?? '', type['type'] ?? '');
      continue;
    }
    const sample = /^(?<key>(?<name>[a-z_]+)(?:\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"\})?) (?<value>\d+(?:\.\d+)?(?:e-\d+)?)$/.exec(
      line,
    )?.groups;
    assert.ok(sample, line);
    const name = sample['name'] ?? '';
    assert.ok(types.has(name) || types.get(name.replace(/_(?:bucket|sum|count)$/, '')) === 'histogram', line);
    assert.ok(!samples.has(sample['key'] ?? ''), line);
    samples.set(sample['key'] ?? '', Number(sample['value']));
  }
  return { types, samples };
}

const read = (metrics: ServerMetrics, gauges: Partial<Gauges> = {}) => parse(metrics.text({ ...idle, ...gauges })).samples;

describe('the metrics', () => {
  test('have these names and types', () => {
    assert.deepEqual(Object.fromEntries(parse(new ServerMetrics().text(idle)).types), {
      sluice_connections: 'gauge',
      sluice_sessions: 'gauge',
      sluice_processes: 'gauge',
      sluice_retained_bytes: 'gauge',
      sluice_stdin_queued_bytes: 'gauge',
      sluice_send_queued_bytes: 'gauge',
      sluice_output_bytes_total: 'counter',
      sluice_dropped_bytes_total: 'counter',
      sluice_spawn_seconds: 'histogram',
      sluice_spawn_failures_total: 'counter',
      sluice_process_endings_total: 'counter',
      sluice_refused_requests_total: 'counter',
      sluice_cut_off_connections_total: 'counter',
      sluice_requests_total: 'counter',
      sluice_errors_total: 'counter',
      sluice_file_handles: 'gauge',
      sluice_file_watches: 'gauge',
      sluice_flow_bytes: 'gauge',
      sluice_flows: 'gauge',
    });
  });

  test('are all present from the start, as zero', () => {
    const samples = read(new ServerMetrics());
    assert.deepEqual(new Set(samples.values()), new Set([0]));
    assert.ok(samples.has('sluice_requests_total{method="process/start"}'));
    assert.ok(samples.has('sluice_spawn_failures_total{failure="programNotFound"}'));
    assert.ok(samples.has('sluice_errors_total{code="-32602"}'));
  });

  test('show the current values when requested', () => {
    let connections = 2;
    const gauges = {
      connections: () => connections,
      processes: () => ({ running: 3, exited: 1, closed: 5 }),
      retainedBytes: () => 88,
      sendQueuedBytes: () => 77,
    };
    const metrics = new ServerMetrics();
    assert.equal(read(metrics, gauges).get('sluice_connections'), 2);
    connections = 0;
    const samples = read(metrics, gauges);
    assert.deepEqual(
      [
        'sluice_connections',
        'sluice_processes{state="running"}',
        'sluice_processes{state="closed"}',
        'sluice_retained_bytes',
        'sluice_send_queued_bytes',
      ].map((key) => samples.get(key)),
      [0, 3, 5, 88, 77],
    );
  });

  test('count events', () => {
    const metrics = new ServerMetrics();
    metrics.output(1000);
    metrics.output(24);
    metrics.dropped(5);
    metrics.requested('process/start');
    metrics.requested('process/start');
    metrics.requested('initialized');
    metrics.answeredWithError(-32600);
    metrics.spawnFailed('cwdNotFound');
    metrics.ended('timedOut');
    metrics.refused(401);
    metrics.refused(599);
    metrics.cutOff();
    const happened = [...read(metrics)].filter(([, value]) => value > 0);
    assert.deepEqual(Object.fromEntries(happened), {
      sluice_output_bytes_total: 1024,
      sluice_dropped_bytes_total: 5,
      'sluice_requests_total{method="process/start"}': 2,
      'sluice_requests_total{method="initialized"}': 1,
      'sluice_errors_total{code="-32600"}': 1,
      'sluice_spawn_failures_total{failure="cwdNotFound"}': 1,
      'sluice_process_endings_total{reason="timedOut"}': 1,
      'sluice_refused_requests_total{status="401"}': 1,
      'sluice_refused_requests_total{status="other"}': 1,
      sluice_cut_off_connections_total: 1,
    });
  });

  test('count unknown methods and codes together, so that no caller can make the table grow', () => {
    const metrics = new ServerMetrics();
    const before = read(metrics).size;
    for (let at = 0; at < 1000; at += 1) {
      metrics.requested(`evil"} 1\n${at}`);
      metrics.answeredWithError(at);
    }
    metrics.requested('__proto__');
    const samples = read(metrics);
    assert.equal(samples.size, before);
    assert.deepEqual(
      [samples.get('sluice_requests_total{method="other"}'), samples.get('sluice_errors_total{code="other"}')],
      [1001, 1000],
    );
  });

  test('sort spawn times into cumulative buckets', () => {
    const metrics = new ServerMetrics();
    for (const seconds of [0, 0.0005, 0.0006, 0.03, 9]) metrics.spawned(seconds);
    const samples = read(metrics);
    const buckets = [...samples].filter(([key]) => key.startsWith('sluice_spawn_seconds_bucket')).map(([, count]) => count);
    assert.deepEqual(buckets, [2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 5]);
    assert.equal(samples.get('sluice_spawn_seconds_bucket{le="+Inf"}'), 5);
    assert.equal(samples.get('sluice_spawn_seconds_count'), 5);
    assert.ok(Math.abs((samples.get('sluice_spawn_seconds_sum') ?? 0) - 9.0311) < 1e-9);
  });

  test('escape special characters in labels', () => {
    const processes = () => ({ running: 1, exited: 0, closed: 0, 'a"b\\c\nd': 4 });
    assert.equal(read(new ServerMetrics(), { processes }).get('sluice_processes{state="a\\"b\\\\c\\nd"}'), 4);
  });
});
