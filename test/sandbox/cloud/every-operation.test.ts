import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { cloudOperations } from '../../../src/cloud/contract/index.ts';
import type { Operation } from '../../../src/lib/contract/operation.ts';
import * as controlOperations from '../../../src/sandbox/cloud/control/operations.ts';
import { type Place, place } from './partner.ts';
import { control, event, type Service, send, startService } from './service.ts';

/** Those that would take the ground from under the others: faults answer 5xx on purpose. */
const apart = new Set(['sandboxReset', 'sandboxRevoke', 'sandboxClock', 'sandboxPlantFault']);
const listed: readonly Operation[] = [
  ...Object.values<Operation>(cloudOperations),
  ...Object.values<Operation>(controlOperations).filter(({ id }) => !apart.has(id)),
];
const operations = new Map(listed.map((operation) => [operation.id, operation]));

let service: Service;
let witness: Place;
let tokens: Readonly<Record<string, string>>;
/** Values that lead to something, renewed when it was deleted. */
let there: Readonly<Record<string, string>>;

beforeAll(async () => {
  service = await startService();
  witness = await place(service, { external_dealer_id: 'witness' });
  await renew();
});
afterAll(() => service.cloud.close());

/** Values for places in paths and members of bodies: what is there, what belongs to others, and what is neither. */
const ids = fc.constantFrom('1', '101', '301', '401', '402', '201', '501', '2', '102', '999999', '007', '1e3', '-1');
const words = fc.oneof(
  ids,
  fc.constantFrom('101-1', 'msg-test', '0815', 'connect', '__proto__', '%00', '%', '..', 'Europe/Berlin', 'armed'),
  fc.constantFrom('7b0f3c1e-2a4d-5c6b-8d7e-1f2a3b4c5d6e', '2026-01-01T00:00:00Z', 'dispatch', 'camera', 'eq', 'regex'),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const values = fc.oneof(
  words,
  words.map(Number).filter((number) => !Number.isNaN(number)),
  fc.jsonValue({ maxDepth: 2 }),
  fc.array(fc.constantFrom<unknown>(401, 402, 1, '1', null, 'x', 1.5), { maxLength: 4 }),
);

/** Names of members anywhere in a schema, so that bodies come close to good ones. */
function namesIn(schema: z.ZodType | undefined): string[] {
  if (schema === undefined) return [];
  const json = z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' });
  return [...JSON.stringify(json).matchAll(/"(\w+)":\{/g)].map((match) => match[1] ?? '');
}

/** Bodies that are taken, for operations that random members hardly ever satisfy. "$name" becomes what is there. */
const contact_id = '$contactId';
const good: Readonly<Record<string, object>> = {
  createSite: { external_site_id: 'new', name: 'New', timezone: 'UTC' },
  createMonitoringStation: { external_monitoring_station_id: 'new', name: 'New' },
  createContact: { external_contact_id: 'new', first_name: 'N', last_name: 'N' },
  createNvr: { external_nvr_id: 'new', name: 'New' },
  createDevices: [{ external_device_id: 'new', device_type: 'bridge', zone_number: '7' }],
  updateDevices: [{ device_id: '$deviceId', name: 'Renamed' }],
  deleteDevices: { deviceIds: ['$deviceId'] },
  addNvrDevices: { deviceIds: ['$deviceId'] },
  connectDealer: { external_dealer_id: 'bound', company_name: 'Bound' },
  updateMonitoringBindings: { account_number: '1' },
  updateArmingStatus: { status: 'armed' },
  answerVerification: { contact_id, action: 'dispatch', responded_at: '2026-01-01T00:00:00Z' },
  respondVerification: { contact_id, action: 'disregard', responded_at: '2026-01-01T00:00:00Z' },
  bypassZones: { zones: ['1'] },
  dispatchResponder: { reason: 'noise' },
  postEvent: event(),
  sandboxToken: { kind: 'partner' },
  sandboxClient: { client_id: 'new', client_secret: 'new' },
  sandboxVerification: { dealer_id: '$dealerId', site_id: '$siteId', contact_id },
};

const bodyOf = ({ id, body }: Operation) => {
  const names = [...namesIn(body?.schema), ...namesIn(body?.items), '__proto__', 'constructor'];
  const object = fc.dictionary(fc.constantFrom(...names), values, { maxKeys: 8 });
  const sample = good[id];
  const close = fc
    .dictionary(fc.constantFrom(...names), values, { maxKeys: 1 })
    .map((changes) => (Array.isArray(sample) ? [{ ...sample[0], ...changes }, changes] : { ...sample, ...changes }));
  const json = fc.oneof(
    { weight: 3, arbitrary: close },
    object,
    fc.array(object, { maxLength: 4 }),
    fc.jsonValue({ maxDepth: 3 }),
  );
  return fc.oneof(
    { weight: 6, arbitrary: json.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
    { weight: 1, arbitrary: fc.constant('['.repeat(300)) },
    { weight: 1, arbitrary: fc.constant('') },
  );
};
const queryOf = ({ query }: Operation) => {
  const name = fc.constantFrom(...Object.keys(query?.shape ?? {}), 'fields', 'filter', 'limit', 'x');
  const filter = fc.tuple(fc.constantFrom('name', 'site_id', 'created_at'), words, words).map((parts) => parts.join());
  const pair = fc.tuple(name, fc.oneof(words, filter)).map(([key, value]) => `${key}=${encoded(value)}`);
  return fc.oneof(
    fc.constant(''),
    fc.array(pair, { maxLength: 4 }).map((pairs) => `?${pairs.join('&')}`),
    fc.constant('?filter=%zz'),
  );
};
/** Lone surrogates cannot be encoded. */
const encoded = (text: string) => encodeURIComponent(text.toWellFormed());

const requests = fc.constantFrom(...listed).chain((operation) =>
  fc.record({
    id: fc.constant(operation.id),
    places: fc.array(fc.oneof({ weight: 4, arbitrary: ids }, { weight: 1, arbitrary: words }), {
      minLength: 4,
      maxLength: 4,
    }),
    inPlace: fc.boolean(),
    query: queryOf(operation),
    body: bodyOf(operation),
    type: fc.oneof(
      { weight: 5, arbitrary: fc.constant(operation.body?.media ?? 'application/json') },
      { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/json; charset=x', ';') },
    ),
    kind: fc.oneof(
      { weight: 6, arbitrary: fc.constant(operation.auth[0] ?? 'none') },
      { weight: 1, arbitrary: fc.constantFrom('partner', 'user', 'event', 'api_key', 'none', 'Bearer') },
    ),
    trace: fc.string({ unit: 'grapheme-ascii', maxLength: 40 }),
  }),
);

/** A new dealer with a site, tokens for it, and the names that lead to it: with `inPlace` a call reaches its body. */
async function renew(): Promise<void> {
  const { call, dealer, site } = await place(service);
  const dealer_id = Number(dealer.split('/').at(-1));
  const make = async (kind: string) => {
    const { json } = await control(service, 'POST', 'tokens', { kind, dealers: [dealer_id] });
    return [kind, json.token] as const;
  };
  tokens = Object.fromEntries(await Promise.all(['partner', 'user', 'event', 'api_key'].map(make)));
  const account_number = `account-${dealer_id}`;
  await call('PUT', site, { account_number });
  const siteId = site.split('/').at(-1) ?? '';
  const [, camera] = (await call('GET', `${site}/devices`)).json;
  const [contact] = (await call('GET', `${site}/contacts`)).json;
  const nvr = (await call('POST', `${site}/nvrs`, { external_nvr_id: 'n', name: 'N' })).json;
  const body = { dealer_id, site_id: Number(siteId), contact_id: contact.contact_id };
  const { verification_id } = (await control(service, 'POST', 'verifications', body)).json;
  const station = { external_monitoring_station_id: 's', name: 'S' };
  const { monitoring_station_id } = (await call('POST', `${dealer}/monitoring-stations`, station)).json;
  there = {
    monitoringStationId: String(monitoring_station_id),
    dealerId: String(dealer_id),
    siteId,
    site_id: siteId,
    contactId: String(contact.contact_id),
    deviceId: String(camera.device_id),
    device_id: String(camera.device_id),
    nvrId: String(nvr.nvr_id),
    verificationId: verification_id,
    partition_id: `${siteId}-1`,
    audio_message_id: 'msg-test',
    account_reference_id: account_number,
  };
}

const witnessed = async () => {
  const paths = ['', '/devices', '/contacts', '/arming-status', '/activity-logs', '/arming-settings'];
  const read = async (path: string) => (await witness.call('GET', witness.site + path)).json;
  return [(await witness.call('GET', witness.dealer)).json, ...(await Promise.all(paths.map(read)))];
};

it('answers any request to any operation in JSON and as the contract says, never with a 5xx, and nothing of another dealer changes', async () => {
  const before = await witnessed();
  const statuses = new Map<string, Set<number>>();
  await fc.assert(
    fc.asyncProperty(requests, async ({ id, places, inPlace, query, body, type, kind, trace }) => {
      const operation = operations.get(id) as Operation;
      let place = 0;
      const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
        place += 1;
        return (inPlace ? there[name] : undefined) ?? encoded(places[place - 1] ?? 'x');
      });
      const bare = operation.method === 'GET';
      const answer = await send(service.cloud.url + path + query, {
        method: operation.method,
        headers: {
          ...(kind === 'none' ? {} : { authorization: `Bearer ${tokens[kind] ?? ''}` }),
          'content-type': type,
          'x-partner-trace-id': trace,
        },
        ...(bare ? {} : { body: body.replaceAll(/"\$(\w+)"/g, (_, name: string) => there[name] ?? 'null') }),
      });
      const seen = statuses.get(operation.id) ?? new Set();
      statuses.set(operation.id, seen.add(answer.status));
      expect(answer.status, answer.text).toBeLessThan(500);
      if (answer.status < 300 && /^(delete|disconnect)/.test(id)) await renew();
      if (answer.status === 204) {
        expect(answer.text).toBe('');
        return;
      }
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.json).toBeTypeOf('object');
      // An operation of another resource may have answered when a place made another path of it.
      if (!inPlace || answer.status >= 400) return;
      operation.responses[answer.status]?.schema?.parse(answer.json);
    }),
    { numRuns: 3000 },
  );
  expect(await witnessed()).toEqual(before);
  const succeeded = [...statuses].filter(([, seen]) => [...seen].some((status) => status < 300));
  expect(succeeded.length).toBeGreaterThan(listed.length * 0.8);
}, 120_000);
