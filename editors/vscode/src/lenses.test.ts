import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { Lenses } from './lenses.ts';

describe('FindingU1 lenses that have changed', () => {
  let told: number;
  let inSight: string[];
  let lenses: Lenses;

  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    told = 0;
    inSight = ['a'];
    lenses = new Lenses(
      () => told++,
      () => inSight,
    );
  });
  afterEach(() => mock.timers.reset());

  /** Lets time pass, by steps: a timer that begins meanwhile counts from there. */
  const later = (ms: number): void => {
    for (let left = ms; left > 0; left -= 100) {
      mock.timers.tick(Math.min(left, 100));
    }
  };

  it('are told of once where they are asked for', () => {
    lenses.changed();
    later(300);
    lenses.wereAsked('a');
    later(60_000);
    assert.equal(told, 1);
  });

  it('are told of again until they are asked for', () => {
    lenses.changed();
    later(599);
    assert.equal(told, 1);
    later(1);
    assert.equal(told, 2);
    lenses.wereAsked('a');
    later(60_000);
    assert.equal(told, 2);
  });

  it('are told of four times where nobody asks, and anew after the next change', () => {
    lenses.changed();
    later(60_000);
    assert.equal(told, 4);
    lenses.changed();
    later(60_000);
    assert.equal(told, 8);
  });

  it('are asked for by each editor of a document', () => {
    inSight = ['a', 'a'];
    lenses.changed();
    lenses.wereAsked('a');
    later(600);
    assert.equal(told, 2);
    // What was asked for before does not count for the one that did not ask.
    lenses.wereAsked('a');
    later(1200);
    assert.equal(told, 3);
    lenses.wereAsked('a');
    lenses.wereAsked('a');
    later(60_000);
    assert.equal(told, 3);
  });

  it('do not wait for an editor that is not in sight any more', () => {
    lenses.changed();
    inSight = [];
    later(60_000);
    assert.equal(told, 1);
  });

  it('are told of where a document that comes into sight is not asked for by itself', () => {
    lenses.changed();
    lenses.wereAsked('a');
    later(600);
    inSight = ['b'];
    lenses.seen((uri) => uri === 'b');
    later(600);
    assert.equal(told, 2);
    lenses.wereAsked('b');
    later(60_000);
    assert.equal(told, 2);
  });

  it('are asked for anew when a document comes back into sight', () => {
    lenses.changed();
    lenses.wereAsked('a');
    later(600);
    inSight = ['b'];
    lenses.seen(() => true);
    lenses.wereAsked('b');
    later(600);
    inSight = ['a'];
    lenses.seen(() => true);
    later(600);
    assert.equal(told, 2);
  });

  it('are not told of more often because other editors come into sight meanwhile', () => {
    lenses.changed();
    later(600);
    lenses.seen(() => true);
    later(60_000);
    assert.equal(told, 4);
  });

  it('are not told of where that document has none, or is asked for', () => {
    inSight = ['b'];
    lenses.seen((uri) => uri === 'a');
    later(60_000);
    inSight = ['a'];
    lenses.seen((uri) => uri === 'a');
    lenses.wereAsked('a');
    later(60_000);
    assert.equal(told, 0);
  });

  it('are told of no more at the end', () => {
    lenses.changed();
    lenses.dispose();
    later(60_000);
    assert.equal(told, 1);
  });
});
