import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SiteSource } from '../../../src/sandbox/cloud/site-columns.ts';
import { brokenNames, readSiteQuery } from '../../../src/sandbox/cloud/site-query.ts';
import { selectSites } from '../../../src/sandbox/cloud/site-rows.ts';

type Query = Parameters<typeof readSiteQuery>[0];

const source = (id: number, members: Partial<SiteSource['sites']> = {}): SiteSource => ({
  sites: {
    site_id: id,
    external_site_id: `s-${id}`,
    name: `Site ${id}`,
    external_monitoring_station_id: null,
    monitoring_station_id: null,
    account_number: '',
    address1: '',
    address2: '',
    timezone: 'UTC',
    is_activated: 0,
    created_at: '2026-01-01T00:00:00.000Z',
    ...members,
  },
  monitoring_stations: undefined,
  dealers: undefined,
});

const read = (query: Query, over_limit: 'clamp' | 'refuse' = 'clamp') => readSiteQuery(query, { over_limit });
const fieldsOf = (query: Query, over?: 'refuse') => {
  const result = read(query, over);
  return 'errors' in result ? result.errors.map(({ field }) => field) : [];
};
function rows(sources: readonly SiteSource[], query: Query): readonly Record<string, unknown>[] {
  const result = read(query);
  if ('errors' in result) throw new Error(JSON.stringify(result.errors));
  return selectSites(sources, result) ?? [];
}
const ids = (sources: readonly SiteSource[], query: Query) => rows(sources, query).map((row) => row.site_id);

describe('filter', () => {
  const sites = [
    source(1, { name: 'a,b', account_number: '10' }),
    source(2, { name: 'a', account_number: '9', monitoring_station_id: 7, created_at: '2026-02-01T00:00:00.000Z' }),
    source(3, { name: '', is_activated: 1 }),
  ];
  it.each([
    ['a value without an operator is equal', 'name,a', [2]],
    ['a value keeps its commas', 'name,a,b,eq', [1]],
    ['an empty value', 'name,,eq', [3]],
    ['an empty value without an operator', 'name,', [3]],
    ['text is ordered by code unit', 'account_number,10,gt', [2]],
    ['numbers are ordered as numbers', 'site_id,2,gte', [2, 3]],
    ['numbers may have another notation', 'site_id,2.0,eq', [2]],
    ['what is not there fits only neq', 'monitoring_station_id,7,neq', [1, 3]],
    ['what is not there is smaller than nothing', 'monitoring_station_id,9,lt', [2]],
    ['times are compared as instants', 'created_at,2026-02-01T01:00:00+01:00,eq', [2]],
    ['a time without a zone is UTC', 'created_at,2026-01-15 00:00:00,lt', [1, 3]],
    ['a regex searches anywhere', 'name,^a(,|$),regex', [1, 2]],
    ['the prefix of the own table', 'sites.is_activated,1,eq', [3]],
  ])('%s', (_, filter, expected) => expect(ids(sites, { filter })).toEqual(expected));
  it('several filters all must hold', () => {
    expect(ids(sites, { filter: ['site_id,1,gt', 'name,a,neq'] })).toEqual([3]);
  });
  it.each([
    'name',
    '',
    'name,a,b',
    'name,a,like',
    'name,a,EQ',
    'nothing,1,eq',
    '__proto__,1,eq',
    'constructor,1',
    'site_id,one,eq',
    'site_id,,eq',
    'site_id,1e3,eq',
    'site_id,1,regex',
    'created_at,yesterday,lt',
    'has_physical_bridge,true,eq',
    'name,(?=a),regex',
    'name,(a)\\1,regex',
    'name,[,regex',
    `name,${'a'.repeat(257)},regex`,
  ])('refuses %j', (filter) => expect(fieldsOf({ filter })).toEqual(['filter']));
  it('takes eight filters and refuses nine', () => {
    expect(fieldsOf({ filter: Array(8).fill('name,a,eq') })).toEqual([]);
    expect(fieldsOf({ filter: Array(9).fill('name,a,eq') })).toEqual(['filter']);
  });
  it('gives up a search that may not go on', () => {
    const query = read({ filter: 'name,a,regex' });
    if ('errors' in query) throw new Error('not read');
    expect(selectSites(sites, query, () => false)).toBeUndefined();
  });
});

describe('fields', () => {
  const sites = [
    {
      ...source(1),
      monitoring_stations: {
        ...{ monitoring_station_id: 7, external_monitoring_station_id: 'x', name: 'Central', prefix: '', linecard: '' },
        ...{ created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' },
      },
    },
    source(2),
  ];
  it('reduces rows to what is asked for, each name once, joined columns under their full name', () => {
    expect(rows(sites, { fields: ' name , sites.site_id,monitoring_stations.name,name' })).toEqual([
      { name: 'Site 1', site_id: 1, 'monitoring_stations.name': 'Central' },
      { name: 'Site 2', site_id: 2, 'monitoring_stations.name': null },
    ]);
  });
  it.each(['', ' '])('%j is all columns', (fields) => {
    expect(Object.keys(rows(sites, { fields })[0] ?? {})).toHaveLength(11);
  });
  it.each(['name,,site_id', 'has_physical_bridge', 'dealers.bound_by', 'contacts.name', 'toString'])(
    'refuses %j',
    (fields) => expect(fieldsOf({ fields })).toEqual(['fields']),
  );
});

describe('order and page', () => {
  const sites = [
    source(3, { name: 'b', monitoring_station_id: 1 }),
    source(1, { name: 'b' }),
    source(2, { name: 'a', monitoring_station_id: 2 }),
  ];
  it.each([
    [{}, [1, 2, 3]],
    [{ dir: 'desc' }, [3, 2, 1]],
    [{ sort: 'name' }, [2, 1, 3]],
    [{ sort: 'name', dir: 'desc' }, [1, 3, 2]],
    [{ sort: 'monitoring_station_id' }, [1, 3, 2]],
    [{ sort: 'monitoring_station_id', dir: 'desc' }, [2, 3, 1]],
    [{ limit: '2' }, [1, 2]],
    [{ limit: '2', offset: '2' }, [3]],
    [{ offset: '3' }, []],
    [{ offset: '99999999999999999999' }, []],
    [{ limit: '99999999999999999999' }, [1, 2, 3]],
  ] as [Query, number[]][])('%j gives %j', (query, expected) => expect(ids(sites, query)).toEqual(expected));
  it('sorts by a column that is not asked for', () => {
    expect(rows(sites, { sort: 'site_id', dir: 'desc', fields: 'name' })).toEqual([
      { name: 'b' },
      { name: 'a' },
      { name: 'b' },
    ]);
  });
  it.each([
    [{ sort: 'nothing' }, 'sort'],
    [{ sort: '' }, 'sort'],
    [{ dir: 'ASC' }, 'dir'],
    [{ dir: '' }, 'dir'],
    [{ limit: '0' }, 'limit'],
    [{ limit: '-1' }, 'limit'],
    [{ limit: '1.5' }, 'limit'],
    [{ limit: '' }, 'limit'],
    [{ offset: '-1' }, 'offset'],
    [{ offset: '1e3' }, 'offset'],
  ] as [Query, string][])('refuses %j', (query, field) => expect(fieldsOf(query)).toEqual([field]));
  it('clamps a limit above 1000, or refuses it where the dialect says so', () => {
    expect(read({ limit: '1001' })).toMatchObject({ limit: 1000 });
    expect(fieldsOf({ limit: '1001' }, 'refuse')).toEqual(['limit']);
    expect(fieldsOf({ limit: '1000' }, 'refuse')).toEqual([]);
  });
  it('names every wrong parameter at once', () => {
    expect(fieldsOf({ filter: 'x', sort: 'x', dir: 'x', limit: 'x', offset: 'x', fields: 'x' }).toSorted()).toEqual([
      'dir',
      'fields',
      'filter',
      'limit',
      'offset',
      'sort',
    ]);
  });
});

it.each([
  ['', []],
  ['?filter=name,100%25', []],
  ['?filter=name,%zz&limit=1', ['filter']],
  ['?filter=%', ['filter']],
  ['?a=%ff', ['a']],
  ['?%=1', ['query']],
])('names the parameters with a broken escape in %j', (search, names) => expect(brokenNames(search)).toEqual(names));

it('pages of any size join to the whole list, in the order of the sort', () => {
  const site = fc.record({ name: fc.string({ maxLength: 3 }), is_activated: fc.constantFrom(0 as const, 1 as const) });
  fc.assert(
    fc.property(
      fc.array(site, { maxLength: 30 }),
      fc.integer({ min: 1, max: 7 }),
      fc.constantFrom('name', 'site_id', 'is_activated'),
      fc.constantFrom('asc', 'desc'),
      (members, limit, sort, dir) => {
        const sites = members.map((member, index) => source(index + 1, member));
        const whole = ids(sites, { sort, dir });
        const paged = Array.from({ length: Math.ceil(sites.length / limit) }, (_, page) =>
          ids(sites, { sort, dir, limit: String(limit), offset: String(page * limit) }),
        ).flat();
        expect(paged).toEqual(whole);
        expect(new Set(whole).size).toBe(sites.length);
      },
    ),
  );
});

it('every text is read or refused, never thrown at', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('name', 'site_id,1,', ',regex', '(', '[a', '\\'), fc.json());
  const filter = fc.array(
    fc.oneof(
      text,
      fc.tuple(text, text).map(([a, b]) => `name,${a}${b},regex`),
    ),
    { maxLength: 9 },
  );
  const query = fc.record(
    { filter, fields: text, sort: text, dir: text, limit: text, offset: text },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(query, (wanted) => {
      const result = read(wanted);
      if ('errors' in result) expect(result.errors.length).toBeGreaterThan(0);
      else expect(selectSites([source(1)], result)).toBeInstanceOf(Array);
    }),
    { numRuns: 500 },
  );
});
