import { beforeEach, expect } from 'vitest';
import { refused, rows } from './answers.ts';
import { aContact, aDealer, aSite, aStation, type Dealer, siteBody } from './fixtures.ts';
import type { Answer, Loose } from './http.ts';
import { conformance, unique } from './server.ts';

const service = conformance();
const { rule, call } = service;

/** One dealer for a test, and a mark that only the sites of this test carry. */
interface Place {
  readonly dealer: Dealer;
  readonly mark: string;
}

/** Names chosen for order by code unit: capitals before small letters, and one with commas. */
const names = ['Alpha', 'Zulu', 'alpha', 'Bravo, Charlie, eq', 'Delta'] as const;

/** On it an engine that backtracks is busy for ever with the two patterns of S-086. */
const poison = `${'a'.repeat(60)}!`;

let place: Place | undefined;
beforeEach(() => {
  place = undefined;
});

/** Five sites of one mark in `address2`; the first has a station, the first two an account number. */
async function fiveSites(): Promise<Place> {
  const dealer = await aDealer(service);
  const mark = unique('mark');
  const station = await aStation(service, dealer, { name: 'Central north' });
  for (const [index, name] of names.entries()) {
    const body = siteBody({
      name,
      address1: poison,
      address2: mark,
      ...(index < 2 ? { account_number: `10${index}` } : {}),
      ...(index === 0 ? { monitoring_station_id: station.monitoring_station_id } : {}),
    });
    await aSite(service, { dealer, body });
  }
  place = { dealer, mark };
  return place;
}

type Query = readonly [name: string, value: string][];

/** The list, narrowed to the sites of this test. */
async function ask(query: Query): Promise<Answer> {
  const { dealer, mark } = place ?? (await fiveSites());
  const search = new URLSearchParams([['filter', `address2,${mark},eq`], ...query]);
  return call('GET', `${dealer.path}/sites?${search}`, { token: dealer.token });
}

const list = async (...query: Query): Promise<readonly Loose[]> => rows(await ask(query));
const namesOf = (found: readonly Loose[]): unknown[] => found.map((row) => row.name);
const filtered = async (filter: string): Promise<unknown[]> => namesOf(await list(['filter', filter]));

rule('S-080 fields chooses the columns of a row', async () => {
  const found = await list(['fields', 'site_id,name']);
  expect(found).toHaveLength(names.length);
  for (const row of found) expect(Object.keys(row).sort()).toEqual(['name', 'site_id']);
});

rule('S-080 a column of another table is written table.column', async () => {
  const [first, second] = await list(['fields', 'name,monitoring_stations.name'], ['sort', 'site_id']);
  expect(first).toEqual({ name: 'Alpha', 'monitoring_stations.name': 'Central north' });
  expect(second?.name).toBe('Zulu');
});

rule('S-081 the table of sites itself may be named; its key comes back without it', async () => {
  const [row] = await list(['fields', 'sites.name,sites.timezone']);
  expect(row).toEqual({ name: 'Alpha', timezone: 'Europe/Berlin' });
});

rule('S-081 stations and dealers can be joined; a site without a station has null there', async () => {
  const fields = 'dealers.company_name,monitoring_stations.external_monitoring_station_id';
  const [first, second] = await list(['fields', fields]);
  expect(Object.keys(first ?? {}).sort()).toEqual(fields.split(','));
  expect(first?.['monitoring_stations.external_monitoring_station_id']).toEqual(expect.any(String));
  expect(second?.['monitoring_stations.external_monitoring_station_id']).toBeNull();
});

rule('S-081 unknown tables and columns give 400; blanks and doubles do not matter; empty is absent', async () => {
  for (const fields of ['colour', 'devices.name', 'sites.colour', 'monitoring_stations.colour', 'a.b.c']) {
    refused(await ask([['fields', fields]]), 400, 'fields');
  }
  refused(await ask([['fields', 'has_physical_bridge']]), 400, 'fields');
  const [row] = await list(['fields', ' name , site_id,name']);
  expect(Object.keys(row ?? {}).sort()).toEqual(['name', 'site_id']);
  const [whole] = await list(['fields', '']);
  expect(whole).toHaveProperty('timezone');
});

rule('S-082 filter is column,value,operator; the operator is eq unless written', async () => {
  expect(await filtered('name,Alpha')).toEqual(['Alpha']);
  expect(await filtered('name,Alpha,eq')).toEqual(['Alpha']);
  expect((await filtered('name,Alpha,neq')).length).toBe(names.length - 1);
});

rule('S-082 lt, lte, gt and gte compare; regex searches', async () => {
  const ids = (await list(['sort', 'site_id'])).map((row) => Number(row.site_id));
  const by = async (operator: string) =>
    (await list(['sort', 'site_id'], ['filter', `site_id,${ids[1]},${operator}`])).map((row) => row.site_id);
  expect(await by('lt')).toEqual(ids.slice(0, 1));
  expect(await by('lte')).toEqual(ids.slice(0, 2));
  expect(await by('gt')).toEqual(ids.slice(2));
  expect(await by('gte')).toEqual(ids.slice(1));
  expect(await filtered('name,^A,regex')).toEqual(['Alpha']);
});

rule('S-082 several filters all must hold', async () => {
  const found = await list(['filter', 'name,Alpha,neq'], ['filter', 'name,^[A-Z],regex'], ['filter', 'name,Z,lt']);
  expect(namesOf(found)).toEqual(['Bravo, Charlie, eq', 'Delta']);
});

rule('S-083 the last part is the operator, and all between is the value', async () => {
  expect(await filtered('name,Bravo, Charlie, eq,eq')).toEqual(['Bravo, Charlie, eq']);
  expect(await filtered('account_number,,eq')).toHaveLength(names.length - 2);
});

rule('S-083 three parts without an operator, and one part, give 400 with a hint', async () => {
  const { message } = refused(await ask([['filter', 'name,Bravo, Charlie']]), 400, 'filter');
  expect(message).toMatch(/operator/);
  for (const filter of ['name', 'name,a,b,EQ']) refused(await ask([['filter', filter]]), 400, 'filter');
});

rule('S-084 a value with commas is safe when the operator is written', async () => {
  const value = 'Bravo, Charlie, eq';
  expect(await filtered(`name,${value},eq`)).toEqual([value]);
  expect(await filtered(`name,${value},neq`)).not.toContain(value);
});

rule('S-085 unknown columns and operators give 400, and so does text for a number', async () => {
  const wrong = [
    'colour,red,eq',
    'name,Alpha,like',
    'name,Alpha,EQ',
    'site_id,one,eq',
    'site_id,,eq',
    'site_id,0x10,gt',
  ];
  for (const filter of wrong) refused(await ask([['filter', filter]]), 400, 'filter');
});

rule('S-085 text is ordered by code unit and compared with case; times by instant; null matches only neq', async () => {
  expect(await filtered('name,alpha,eq')).toEqual(['alpha']);
  expect(await filtered('name,Zz,gt')).toEqual(['alpha']);
  const [first] = await list();
  const instant = new Date(String(first?.created_at).replace(' ', 'T').replace(/Z?$/, 'Z')).getTime();
  const elsewhere = new Date(instant + 7_200_000).toISOString().replace('Z', '+02:00');
  expect(await filtered(`created_at,${elsewhere},eq`)).toContain('Alpha');
  expect(await filtered('monitoring_station_id,0,gte')).toEqual(['Alpha']);
  expect(await filtered('monitoring_station_id,0,neq')).toHaveLength(names.length);
});

rule('S-086 regex searches unanchored in texts only, in linear time', async () => {
  expect(await filtered('name,lph,regex')).toEqual(['Alpha', 'alpha']);
  expect(await filtered('name,^(Zu|De),regex')).toEqual(['Zulu', 'Delta']);
  refused(await ask([['filter', 'site_id,1,regex']]), 400, 'filter');
  expect(await filtered('address1,^(a+)+$,regex')).toEqual([]);
  expect(await filtered('address1,^(.|..)+$Z,regex')).toEqual([]);
});

rule('S-086 look-around, back-references, 257 characters and a ninth filter give 400', async () => {
  for (const pattern of ['(?=a)', '(?<!a)b', '(a)\\1', '(', '[', 'a{2,1}', 'a'.repeat(257)]) {
    refused(await ask([['filter', `name,${pattern},regex`]]), 400, 'filter');
  }
  expect(await filtered(`name,${'a'.repeat(256)},regex`)).toEqual([]);
  const eight = Array.from({ length: 7 }, (): [string, string] => ['filter', 'name,Alpha,eq']);
  expect(namesOf(await list(...eight))).toEqual(['Alpha']);
  refused(await ask([...eight, ['filter', 'name,Alpha,eq']]), 400, 'filter');
});

const byCodeUnit = [...names].sort();

rule('S-087 sort orders by a column, ascending unless dir is desc', async () => {
  expect(namesOf(await list(['sort', 'name']))).toEqual(byCodeUnit);
  expect(namesOf(await list(['sort', 'name'], ['dir', 'asc']))).toEqual(byCodeUnit);
  expect(namesOf(await list(['sort', 'name'], ['dir', 'desc']))).toEqual(byCodeUnit.toReversed());
});

rule('S-088 without sort the order is by site_id, and so are ties; nulls come first', async () => {
  expect(namesOf(await list())).toEqual(names);
  expect(namesOf(await list(['sort', 'timezone']))).toEqual(names);
  const found = await list(['sort', 'monitoring_station_id'], ['fields', 'name']);
  expect(namesOf(found)).toEqual([...names.slice(1), names[0]]);
});

rule('S-088 an unknown column or direction, and what is given twice, gives 400', async () => {
  refused(await ask([['sort', 'colour']]), 400, 'sort');
  for (const dir of ['ASC', 'Desc', 'up'])
    refused(
      await ask([
        ['sort', 'name'],
        ['dir', dir],
      ]),
      400,
      'dir',
    );
  const twice = { sort: 'name', dir: 'asc', limit: '1', offset: '1', fields: 'name' };
  for (const [name, value] of Object.entries(twice)) {
    refused(
      await ask([
        [name, value],
        [name, value],
      ]),
      400,
      name,
    );
  }
});

rule('S-089 limit is the most rows, offset the rows skipped', async () => {
  expect(namesOf(await list(['limit', '2']))).toEqual(names.slice(0, 2));
  expect(namesOf(await list(['limit', '2'], ['offset', '3']))).toEqual(names.slice(3));
  expect(namesOf(await list(['limit', '2'], ['offset', '4']))).toEqual(names.slice(4));
});

rule('S-090 limit and offset are whole decimal numbers; more than 1000 is 1000; past the end is empty', async () => {
  for (const limit of ['0', '-1', '1.5', '1e2', 'all', '0x10']) refused(await ask([['limit', limit]]), 400, 'limit');
  for (const offset of ['-1', '1.5', 'x']) refused(await ask([['offset', offset]]), 400, 'offset');
  expect(await list(['limit', '1001'])).toHaveLength(names.length);
  expect(namesOf(await list(['offset', '3']))).toEqual(names.slice(3));
  expect(await list(['offset', '99'])).toEqual([]);
});

rule('S-090 a page has 1000 rows at most, whatever the limit, also without one', async () => {
  service.need(service.target().own || undefined, 'makes 1001 sites, so it needs a sandbox this suite starts itself');
  const dealer = await aDealer(service);
  for (let made = 0; made < 1001; made += 91) {
    await Promise.all(Array.from({ length: 91 }, () => aSite(service, { dealer })));
  }
  const page = async (query: string) =>
    rows(await call('GET', `${dealer.path}/sites?${query}`, { token: dealer.token }));
  for (const query of ['limit=1001', 'limit=999999', 'limit=1000', '']) expect(await page(query)).toHaveLength(1000);
  expect(await page('limit=1001&offset=1000')).toHaveLength(1);
});

rule('S-091 pages by offset, until one is empty, hold every site once', async () => {
  await fiveSites();
  const seen: Loose[] = [];
  for (;;) {
    const page = await list(['sort', 'site_id'], ['limit', '2'], ['offset', String(seen.length)]);
    if (page.length === 0) break;
    seen.push(...page);
  }
  expect(namesOf(seen)).toEqual(names);
});

rule('S-092 a query is decoded once, plus is a blank, a broken escape gives 400', async () => {
  const { dealer, mark } = await fiveSites();
  const path = `${dealer.path}/sites?filter=address2,${mark},eq&filter=name,`;
  const get = (rest: string) => call('GET', `${path}${rest}`, { token: dealer.token });
  expect(namesOf(rows(await get('Bravo,+Charlie,+eq,eq')))).toEqual(['Bravo, Charlie, eq']);
  expect(namesOf(rows(await get('Bravo%2C%20Charlie%2C%20eq%2Ceq')))).toEqual(['Bravo, Charlie, eq']);
  expect(rows(await get('Bravo%252C%2520Charlie,eq'))).toEqual([]);
  for (const broken of ['%zz,eq', '%,eq', '%e0%a4,eq', '%ff,eq']) refused(await get(broken), 400);
});

rule('S-093 lists other than that of sites take no query', async () => {
  const site = await aSite(service);
  const { token, dealer } = site;
  const contact = await aContact(service, site);
  await aStation(service, dealer);
  const query = '?limit=0&filter=colour&sort=colour&fields=name&offset=1';
  expect(rows(await call('GET', `${site.path}/contacts${query}`, { token }))).toEqual([contact]);
  expect(rows(await call('GET', `${site.path}/devices${query}`, { token }))).toEqual([]);
  expect(rows(await call('GET', `${dealer.path}/monitoring-stations${query}`, { token })).length).toBeGreaterThan(0);
});
