// Ending a tree: which processes are signalled when, and when the tree counts as gone. Time and tree are fake; no real process is touched.

import assert from 'node:assert/strict';
import { type TestContext, describe, test } from 'node:test';
import { deferred } from '#src/base/deferred.js';
import type { TreeLook, TreeMember } from '#src/process/child.js';
import { Termination } from '#src/process/end/termination.js';
import { FakeClock } from '../support/fake-clock.js';
import { FakeProcessTree } from '../support/fake-process-tree.js';

/** Pids that no kernel assigns, in case a signal ever gets past the mock. */
const leader: TreeMember = { pid: 5_000_001, isInGroup: true };
const sibling: TreeMember = { pid: 5_000_002, isInGroup: true };
const outsider: TreeMember = { pid: 5_000_003, isInGroup: false };
const latecomer: TreeMember = { pid: 5_000_004, isInGroup: false };

const names = new Map(
  [leader, sibling, outsider, latecomer].map(({ pid }, at) => [pid, ['leader', 'sibling', 'outsider', 'latecomer'][at]]),
);

/** A tree, its termination, and all events as 'ms target event'. SIGKILL is repeated until the tree is gone; only the first is recorded. */
function treeOf(t: TestContext, ...living: TreeMember[]) {
  const clock = new FakeClock();
  const events: string[] = [];
  const record = (event: string) => {
    if (!event.includes('SIGKILL') || !events.some((earlier) => earlier.endsWith(` ${event}`)))
      events.push(`${clock.now()} ${event}`);
  };
  t.mock.method(process, 'kill', (pid: number, signal: string) => {
    record(`${names.get(pid)} ${signal}`);
    return true;
  });
  const tree = new FakeProcessTree(living, (signal) => record(`group ${signal}`));
  const termination = new Termination({ pid: leader.pid, tree }, clock, (survivors) => {
    record(`gone, left: ${survivors.length === 0 ? 'none' : survivors.map((pid) => names.get(pid)).join(' ')}`);
  });
  /** These die now. */
  const die = (...members: TreeMember[]) => {
    tree.living = tree.living.filter((each) => !members.includes(each));
    if (members.includes(leader)) termination.leaderExited();
  };
  return { clock, events, tree, termination, die };
}

const asked = ['0 group SIGTERM', '0 group SIGCONT'];

describe('SIGTERM', () => {
  test('is sent once to the group and to each process outside it, with SIGCONT for stopped ones', async (t) => {
    const { clock, events, termination } = treeOf(t, leader, sibling, outsider);
    termination.begin(1_000);
    await clock.advance(999);
    assert.deepEqual(events, [...asked, '0 outsider SIGTERM', '0 outsider SIGCONT']);
  });

  test('is all it takes for a tree that ends', async (t) => {
    const { clock, events, termination, die } = treeOf(t, leader, sibling);
    termination.begin(1_000);
    await clock.advance(30);
    die(leader, sibling);
    await clock.advance(0);
    assert.deepEqual(events, [...asked, '30 gone, left: none']);
  });

  test('is not followed by another look while the leader lives', async (t) => {
    const { clock, tree, termination } = treeOf(t, leader);
    termination.begin(1_000);
    await clock.advance(999);
    assert.equal(tree.looks, 1);
  });

  test('is sent to what is left when the leader ended long ago', async (t) => {
    const { clock, events, termination, die } = treeOf(t, leader, sibling);
    die(leader);
    termination.begin(1_000);
    await clock.advance(30);
    die(sibling);
    await clock.advance(100);
    assert.deepEqual(events.map(withoutTime), ['group SIGTERM', 'group SIGCONT', 'gone, left: none']);
  });
});

describe('SIGKILL', () => {
  test('is sent exactly when the grace has passed', async (t) => {
    const { clock, events, termination } = treeOf(t, leader, outsider);
    termination.begin(1_000);
    await clock.advance(1_000);
    assert.deepEqual(events.slice(4), ['1000 group SIGKILL', '1000 outsider SIGKILL']);
  });

  test('is sent immediately, without SIGTERM, when there is no grace', async (t) => {
    const { clock, events, termination } = treeOf(t, leader, outsider);
    termination.begin(0);
    await clock.advance(0);
    assert.deepEqual(events, ['0 group SIGKILL', '0 outsider SIGKILL']);
  });

  test('is sent to what the leader left behind when the grace has passed', async (t) => {
    const { clock, events, termination, die } = treeOf(t, leader, sibling);
    termination.begin(1_000);
    await clock.advance(10);
    die(leader);
    await clock.advance(990);
    assert.deepEqual(events, [...asked, '1000 group SIGKILL']);
  });

  test('reaches processes that started since', async (t) => {
    const { clock, events, tree, termination } = treeOf(t, leader);
    termination.begin(0);
    await clock.advance(10);
    tree.living.push(latecomer);
    await clock.advance(100);
    assert.deepEqual(events.map(withoutTime), ['group SIGKILL', 'latecomer SIGKILL']);
  });
});

describe('a second request', () => {
  test('with a shorter grace takes effect, and sends no second SIGTERM', async (t) => {
    const { clock, events, termination } = treeOf(t, leader);
    termination.begin(5_000);
    await clock.advance(100);
    termination.begin(200);
    await clock.advance(5_000);
    assert.deepEqual(events, [...asked, '300 group SIGKILL']);
  });

  test('with a longer grace changes nothing', async (t) => {
    const { clock, events, termination } = treeOf(t, leader);
    termination.begin(200);
    await clock.advance(100);
    termination.begin(5_000);
    await clock.advance(200);
    assert.deepEqual(events, [...asked, '200 group SIGKILL']);
  });

  test('without grace sends SIGKILL immediately', async (t) => {
    const { clock, events, termination } = treeOf(t, leader);
    termination.begin(5_000);
    await clock.advance(100);
    termination.begin(0);
    await clock.advance(0);
    assert.deepEqual(events, [...asked, '100 group SIGKILL']);
  });

  test('after the tree is gone does nothing', async (t) => {
    const { clock, events, termination, die } = treeOf(t, leader);
    termination.begin(0);
    die(leader);
    await clock.advance(10);
    termination.begin(0);
    termination.begin(1_000);
    termination.leaderExited();
    await clock.advance(10_000);
    assert.deepEqual(events, ['0 group SIGKILL', '0 gone, left: none']);
  });
});

describe('the end', () => {
  test('is reported only when the last member is gone', async (t) => {
    const { clock, events, termination, die } = treeOf(t, leader, sibling, outsider);
    termination.begin(0);
    die(leader, sibling);
    await clock.advance(1_000);
    assert.deepEqual(events, ['0 group SIGKILL', '0 outsider SIGKILL']);
    die(outsider);
    await clock.advance(100);
    assert.deepEqual(events.slice(2).map(withoutTime), ['gone, left: none']);
  });

  test('leaves no timer behind', async (t) => {
    const { clock, termination, die } = treeOf(t, leader);
    termination.begin(1_000);
    die(leader);
    await clock.advance(0);
    assert.deepEqual(clock.pendingMs, []);
  });

  test('leaves no timer behind when an earlier look resolves late', async (t) => {
    const { clock, events, tree, termination, die } = treeOf(t, leader);
    const slowLook = deferred<TreeLook>();
    const look = t.mock.method(tree, 'look', () => slowLook.promise);
    termination.begin(0);
    await clock.advance(0);
    look.mock.restore();
    die(leader);
    await clock.advance(0);
    slowLook.resolve({ members: [], isCertain: true });
    await clock.advance(0);
    assert.deepEqual([events.includes('0 gone, left: none'), clock.pendingMs], [true, []]);
  });

  test('is not reported while looks fail', async (t) => {
    const { clock, events, tree, termination, die } = treeOf(t, leader);
    die(leader);
    tree.isUnreadable = true;
    termination.begin(1_000);
    await clock.advance(2_000);
    assert.deepEqual(events, [...asked, '1000 group SIGKILL']);
    tree.isUnreadable = false;
    await clock.advance(100);
    assert.deepEqual(events.slice(3).map(withoutTime), ['gone, left: none']);
  });

  test('is not reported while a look may have missed a member', async (t) => {
    const { clock, events, tree, termination, die } = treeOf(t, leader, outsider);
    termination.begin(0);
    await clock.advance(0);
    tree.isCertain = false;
    die(leader, outsider);
    await clock.advance(1_000);
    assert.equal(events.length, 2);
    tree.isCertain = true;
    await clock.advance(100);
    assert.deepEqual(events.slice(2).map(withoutTime), ['gone, left: none']);
  });

  test('is under way from the first request until it is reported', async (t) => {
    const { clock, termination, die } = treeOf(t, leader);
    const states = [termination.isUnderWay];
    termination.begin(10);
    states.push(termination.isUnderWay);
    await clock.advance(20);
    states.push(termination.isUnderWay);
    die(leader);
    await clock.advance(0);
    states.push(termination.isUnderWay);
    assert.deepEqual(states, [false, true, true, false]);
  });
});

describe('a process that cannot be ended', () => {
  test('is reported five seconds after SIGKILL', async (t) => {
    const { clock, events, termination, die } = treeOf(t, leader, outsider);
    termination.begin(100);
    die(leader);
    await clock.advance(5_099);
    const before = events.length;
    await clock.advance(101);
    assert.deepEqual([before, events.slice(before).map(withoutTime)], [6, ['gone, left: outsider']]);
  });

  test('is reported after that time even if looks fail, and killed as soon as they work again', async (t) => {
    const { clock, events, tree, termination, die } = treeOf(t, leader, outsider);
    termination.begin(0);
    await clock.advance(0);
    die(leader);
    tree.isUnreadable = true;
    await clock.advance(5_100);
    assert.deepEqual(events.slice(2).map(withoutTime), ['gone, left: outsider']);
    assert.deepEqual([termination.isUnderWay, termination.isOver], [false, true]);
    tree.living.push(latecomer);
    await clock.advance(60_000);
    tree.isUnreadable = false;
    await clock.advance(1_000);
    assert.deepEqual(events.slice(3).map(withoutTime), ['latecomer SIGKILL']);
    die(outsider, latecomer);
    await clock.advance(100);
    assert.deepEqual([events.length, clock.pendingMs], [4, []]);
  });

  test('has the full time to end from when looks work again', async (t) => {
    const { clock, events, tree, termination, die } = treeOf(t, leader, outsider);
    die(leader);
    tree.isUnreadable = true;
    termination.begin(0);
    await clock.advance(60_000);
    // No look ever showed a member, so the leader is reported on behalf of its tree.
    assert.deepEqual(events.map(withoutTime), ['group SIGKILL', 'gone, left: leader']);
    tree.isUnreadable = false;
    await clock.advance(3_900);
    assert.deepEqual([events.slice(2).map(withoutTime), clock.pendingMs.length], [['outsider SIGKILL'], 1]);
    await clock.advance(2_200);
    assert.deepEqual([events.length, clock.pendingMs], [3, []]);
  });

  test('is not looked for indefinitely', async (t) => {
    const { clock, tree, termination, die } = treeOf(t, leader, outsider);
    die(leader);
    tree.isUnreadable = true;
    termination.begin(0);
    await clock.advance(11 * 60_000);
    assert.deepEqual(clock.pendingMs, []);
  });

  test('may be the leader itself', async (t) => {
    const { clock, events, termination } = treeOf(t, leader);
    termination.begin(0);
    await clock.advance(5_100);
    assert.deepEqual(events.map(withoutTime), ['group SIGKILL', 'gone, left: leader']);
  });
});

function withoutTime(event: string): string {
  return event.replace(/^\d+ /, '');
}
