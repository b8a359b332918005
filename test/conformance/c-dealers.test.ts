import { expect } from 'vitest';
import { done, number, refused, rows, text, time } from './answers.ts';
import { aDealer, aSite, makeDealer } from './fixtures.ts';
import type { Answer } from './http.ts';
import { conformance, unique } from './server.ts';

const service = conformance();
const { rule, call } = service;

const connect = (token: string, json: unknown): Promise<Answer> =>
  call('PUT', '/partner/v1/dealers/connect', { token, json });

/** A dealer that is not connected yet, and the token of its user. */
async function newcomer(): Promise<{ id: number; path: string; user: string }> {
  const id = await makeDealer(service, { connected: false });
  return { id, path: `/partner/v1/dealers/${id}`, user: await service.token('user', { dealers: [id] }) };
}

const binding = () => ({ external_dealer_id: unique('dealer'), company_name: 'Guards' });

rule('S-050 a dealer has eight members and no others', async () => {
  const { path, token, id } = await aDealer(service);
  expect(done(await call('GET', path, { token }))).toEqual({
    dealer_id: id,
    external_dealer_id: text,
    company_name: text,
    company_address1: text,
    company_address2: text,
    company_email: text,
    company_phone_number: text,
    created_at: time,
  });
});

rule('S-050 what is not set is empty text, and an unbound external id is null', async () => {
  const { user } = await newcomer();
  const dealer = done(await connect(user, binding()));
  expect(dealer).toMatchObject({ company_address1: '', company_address2: '', company_email: '' });
  const token = await service.token('partner', { dealers: [Number(dealer.dealer_id)] });
  const unbound = done(await call('PUT', `/partner/v1/dealers/${dealer.dealer_id}/disconnect`, { token }));
  expect(unbound.external_dealer_id).toBeNull();
});

rule('S-051 connect binds the dealer of the token to the external id and answers with it', async () => {
  const { id, user } = await newcomer();
  const json = binding();
  expect(done(await connect(user, json))).toMatchObject({ dealer_id: id, ...json });
});

rule('S-051 connect needs both texts, and a valid token', async () => {
  const { user } = await newcomer();
  const json = binding();
  for (const field of ['external_dealer_id', 'company_name'] as const) {
    refused(await connect(user, { ...json, [field]: undefined }), 400, field);
    refused(await connect(user, { ...json, [field]: 7 }), 400, field);
  }
  refused(await connect('nobody-issued-this', json), 401);
  refused(await call('PUT', '/partner/v1/dealers/connect', { json }), 401);
});

rule('S-052 a token of client credentials cannot connect: 403', async () => {
  const { token } = await aDealer(service);
  refused(await connect(token, binding()), 403);
});

rule('S-053 connecting again is no harm; another id rebinds; the company name overwrites', async () => {
  const { user } = await newcomer();
  const json = binding();
  const first = done(await connect(user, json));
  expect(done(await connect(user, json))).toEqual(first);
  const other = { external_dealer_id: unique('dealer'), company_name: 'Better guards' };
  expect(done(await connect(user, other))).toMatchObject({ ...other, dealer_id: first.dealer_id });
  const freed = await newcomer();
  expect(done(await connect(freed.user, json))).toMatchObject({ dealer_id: freed.id, ...json });
});

rule('S-053 an external id that another dealer has gives 400', async () => {
  const [one, two] = [await newcomer(), await newcomer()];
  const json = binding();
  done(await connect(one.user, json));
  refused(await connect(two.user, json), 400, 'external_dealer_id');
});

rule('S-053 once connected, the tokens of the partner reach the dealer', async () => {
  const { id, path, user } = await newcomer();
  const token = await service.token('partner', { dealers: [id] });
  refused(await call('GET', path, { token }), 403);
  done(await connect(user, binding()));
  done(await call('GET', path, { token }));
});

rule('S-054 disconnect takes no body, answers with the dealer, and removes the binding', async () => {
  const { id, path, user } = await newcomer();
  const json = binding();
  done(await connect(user, json));
  const token = await service.token('partner', { dealers: [id] });
  const dealer = done(await call('PUT', `${path}/disconnect`, { token }));
  expect(dealer).toMatchObject({ dealer_id: id, company_name: json.company_name, created_at: time });
  expect(dealer.external_dealer_id).not.toBe(json.external_dealer_id);
  const heir = await newcomer();
  done(await connect(heir.user, json));
});

rule('S-054 a body of disconnect is ignored, and a second time is no harm', async () => {
  const { path, token } = await connectable();
  const headers = { 'content-type': 'text/plain' };
  const first = done(await call('PUT', `${path}/disconnect`, { token, body: 'anything', headers }));
  expect(done(await call('PUT', `${path}/disconnect`, { token }))).toEqual(first);
});

rule('S-055 after disconnect the partner gets 403 for all below; the sites stay', async () => {
  const site = await aSite(service, { dealer: await connectable() });
  const { dealer, token, path } = site;
  done(await call('PUT', `${dealer.path}/disconnect`, { token }));
  for (const below of [dealer.path, `${dealer.path}/sites`, path, `${path}/devices`]) {
    refused(await call('GET', below, { token }), 403);
  }
  const user = await service.token('user', { dealers: [dealer.id] });
  done(await connect(user, binding()));
  expect(rows(await call('GET', `${dealer.path}/sites`, { token }))).toMatchObject([{ site_id: site.id }]);
});

/** A dealer of its own: a given one must not be disconnected. */
async function connectable() {
  const id = await makeDealer(service);
  return { id, path: `/partner/v1/dealers/${id}`, token: await service.token('partner', { dealers: [id] }) };
}

rule('S-056 a dealer is read by its id; unknown is 404', async () => {
  const { path, token, id } = await aDealer(service);
  expect(done(await call('GET', path, { token })).dealer_id).toBe(id);
  refused(await call('GET', '/partner/v1/dealers/999999999', { token }), 404);
});

rule('S-056 a dealer that is not connected is 403', async () => {
  const { token } = await aDealer(service);
  const other = await makeDealer(service);
  refused(await call('GET', `/partner/v1/dealers/${other}`, { token }), 403);
});

rule('S-057 five texts of a dealer can be changed, each on its own', async () => {
  const { path, token } = await aDealer(service);
  const before = done(await call('GET', path, { token }));
  const fields = ['company_name', 'company_address1', 'company_address2', 'company_email', 'company_phone_number'];
  try {
    for (const field of fields) {
      const value = `new ${field}`;
      expect(done(await call('PUT', path, { token, json: { [field]: value } }))[field]).toBe(value);
      refused(await call('PUT', path, { token, json: { [field]: 7 } }), 400, field);
    }
    const read = done(await call('GET', path, { token }));
    for (const field of fields) expect(read[field]).toBe(`new ${field}`);
  } finally {
    const json = Object.fromEntries(fields.map((field) => [field, before[field]]));
    done(await call('PUT', path, { token, json }));
  }
});

rule('S-057 an empty change changes nothing, and the external id is not for change', async () => {
  const { path, token } = await aDealer(service);
  const before = done(await call('GET', path, { token }));
  expect(done(await call('PUT', path, { token, json: {} }))).toEqual(before);
  expect(done(await call('PUT', path, { token, json: { external_dealer_id: 'other' } }))).toEqual(before);
});

rule('S-058 the word connect in a path is no dealer id', async () => {
  const { id, user } = await newcomer();
  expect(done(await connect(user, binding()))).toMatchObject({ dealer_id: id, created_at: time });
  expect(done(await connect(user, binding())).dealer_id).toEqual(number);
});
