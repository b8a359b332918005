import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Table, type TableRules } from '../../../src/sandbox/cloud/world/table.ts';

interface Row {
  readonly id: number;
  readonly parent: number;
  readonly text: string;
}
const table = (rules: Partial<TableRules<Row>> = {}) =>
  new Table<Row>(
    {
      ...{ name: 'things', firstId: 10, maxRows: 4, maxPerParent: 3, atCap: 'refuse' },
      key: (row) => row.id,
      parent: (row) => row.parent,
      ...rules,
    },
    () => undefined,
  );
const row = (id: number, parent = 1, text = ''): Row => ({ id, parent, text });

describe('table', () => {
  it('gives ids that were never used, also after a deletion and a restore', () => {
    const things = table();
    expect(things.newId()).toBe(10);
    things.put(row(12));
    expect([things.newId(), things.newId()]).toEqual([13, 14]);
    things.delete(12);
    const other = table();
    other.restore(things.snapshot());
    expect(other.newId()).toBe(15);
  });
  it('refuses a new row at its bounds, says so, and keeps what it has', () => {
    const things = table();
    for (const id of [1, 2, 3]) things.put(row(id));
    expect(() => things.put(row(4))).toThrow(/3 things here/);
    things.put(row(4, 2));
    expect(() => things.put(row(5, 2))).toThrow(/holds 4 things/);
    expect(things.put(row(4, 2, 'changed'))).toMatchObject({ text: 'changed' });
    expect(things.of(1)).toHaveLength(3);
  });
  it('refuses what would make it too large, also by a change', () => {
    const things = table();
    things.put(row(1));
    expect(() => things.put(row(1, 1, 'x'.repeat(17 * 1024 * 1024)))).toThrow(/16 MiB/);
    expect(things.get(1)).toEqual(row(1));
  });
  it('drops the oldest where its rows may go', () => {
    const things = table({ atCap: 'drop oldest' });
    for (const id of [1, 2, 3, 4]) things.put(row(id));
    expect(things.all().map(({ id }) => id)).toEqual([2, 3, 4]);
    for (const id of [5, 6]) things.put(row(id, 2));
    expect(things.all().map(({ id }) => id)).toEqual([3, 4, 5, 6]);
  });
  it('finds the same rows by id, by parent and in its snapshot, whatever was done', () => {
    const act = fc.record({
      put: fc.boolean(),
      id: fc.integer({ min: 1, max: 9 }),
      text: fc.string({ maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
        const things = table({ maxRows: 9, maxPerParent: 9 });
        const model = new Map<number, Row>();
        for (const { put, id, text } of acts) {
          const next = row(id, id % 3, text);
          if (put) model.set(id, things.put(next));
          else if (things.get(id) !== undefined) model.delete(id);
          if (!put) things.delete(id);
        }
        const sorted = (rows: readonly Row[]) => rows.toSorted((a, b) => a.id - b.id);
        const expected = sorted([...model.values()]);
        expect(sorted(things.all())).toEqual(expected);
        expect(sorted([0, 1, 2].flatMap((parent) => things.of(parent)))).toEqual(expected);
        const copy = table({ maxRows: 9, maxPerParent: 9 });
        copy.restore(things.snapshot());
        expect(copy.snapshot()).toEqual(things.snapshot());
      }),
    );
  });
});
