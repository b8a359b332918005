import { crc32 } from 'node:zlib';
import type Sqlite from 'better-sqlite3';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { emptyDatabase } from '../../../src/site/store/schema.ts';
import { readState, StateRows } from '../../../src/site/store/state-rows.ts';

let db: Sqlite.Database | undefined;
afterEach(() => void db?.close());

function open(): { rows: StateRows; db: Sqlite.Database } {
  db?.close();
  db = emptyDatabase('site');
  return { rows: new StateRows(db), db };
}
const textsIn = (file: Sqlite.Database) =>
  file.prepare<[], string>('SELECT text FROM piece ORDER BY text').pluck().all();

describe('the state in its rows', () => {
  it('is what was set last, whatever was there, was undone or was opened anew', () => {
    const piece = fc.constantFrom('a', 'b', 'c', 'd', 'é🚨', '');
    const step = fc.record({
      pieces: fc.array(piece, { maxLength: 6 }),
      end: fc.constantFrom('kept', 'undone', 'reopened'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const { rows, db: file } = open();
        let now = rows;
        let kept: { order: number; pieces: readonly string[] | undefined } = { order: 0, pieces: undefined };
        for (const [order, { pieces, end }] of steps.entries()) {
          file.exec('BEGIN');
          expect(now.set({ order, pieces })).toBe(true);
          file.exec(end === 'undone' ? 'ROLLBACK' : 'COMMIT');
          if (end === 'undone') now.forget();
          else kept = { order, pieces };
          if (end === 'reopened') now = new StateRows(file);
          expect(readState(file)).toEqual(kept);
          expect(textsIn(file)).toEqual([...new Set(kept.pieces)].sort());
        }
      }),
    );
  });

  it('writes only what is new in it', () => {
    const { rows, db: file } = open();
    rows.set({ order: 1, pieces: ['a', 'b', 'c'] });
    const changes = () => file.prepare<[], number>('SELECT total_changes()').pluck().get() ?? 0;
    const before = changes();
    rows.set({ order: 2, pieces: ['a', 'x', 'c'] });
    // One piece comes, one goes, and the row of `core`.
    expect(changes() - before).toBe(3);
  });

  it('stays when an older one is set again', () => {
    const { rows, db: file } = open();
    rows.set({ order: 2, pieces: ['new'] });
    expect(rows.set({ order: 1, pieces: ['old'] })).toBe(false);
    expect(readState(file)).toEqual({ order: 2, pieces: ['new'] });
  });

  it.each([
    ['a piece is gone', 'DELETE FROM piece WHERE n = 2'],
    ['a piece says something else', "UPDATE piece SET text = 'disarmed' WHERE n = 2"],
    [
      'a piece stands in the place of another',
      'UPDATE piece SET (crc, text) = (SELECT crc, text FROM piece WHERE n = 1) WHERE n = 2',
    ],
    ['the list says something else', "UPDATE core SET state = '[1,3]'"],
  ])('is none where %s', (_what, harm) => {
    const { rows, db: file } = open();
    rows.set({ order: 4, pieces: ['a', 'b', 'c'] });
    file.exec(harm);
    expect(readState(file)).toEqual({ order: 4, pieces: undefined });
  });

  it('is read as an older siteward has written it: whole', () => {
    const { rows, db: file } = open();
    const text = '1\n{"version":1}';
    file.prepare('INSERT INTO core(id, ord, crc, state) VALUES(1, 4, ?, ?)').run(crc32(text), text);
    expect(readState(file)).toEqual({ order: 4, pieces: [text] });
    rows.set({ order: 5, pieces: ['a', 'b'] });
    expect(readState(file)).toEqual({ order: 5, pieces: ['a', 'b'] });
  });
});
