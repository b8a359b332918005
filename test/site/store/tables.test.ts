import { describe, expect, it } from 'vitest';
import { emptyDatabase } from '#site/store/schema.ts';
import { tables } from '#site/store/tables.ts';
import { Walk } from '#site/store/walk.ts';

interface Column {
  readonly name: string;
  readonly pk: number;
}

describe.each(['site', 'bulk'] as const)('the list of tables of %s.db', (file) => {
  const listed = tables.filter(({ files }) => files.includes(file));

  it('holds every table of a new file, with the columns of its key', () => {
    const db = emptyDatabase(file);
    const names = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
    expect(listed.map(({ name }) => name).sort()).toEqual(names.sort());
    for (const { name, key } of listed) {
      const columns = (db.pragma(`table_info(${name})`) as Column[]).filter(({ pk }) => pk > 0);
      expect(Object.keys(key), name).toEqual(columns.sort((a, b) => a.pk - b.pk).map((column) => column.name));
    }
    db.close();
  });

  it('is one that a walk can go through', () => {
    const db = emptyDatabase(file);
    expect(new Walk(db, file).step(Number.POSITIVE_INFINITY)).toBe(true);
    db.close();
  });
});
