import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { done, gone, refused, rows, text, time } from './answers.ts';
import { dealerEndpoints, partnerEndpoints, siteEndpoints } from './endpoints.ts';
import { aContact, aDealer, aDevice, aNvr, aSite, aStation, aVerification, eventBody, makeDealer } from './fixtures.ts';
import { conformance, unique } from './server.ts';

const service = conformance();
const { rule, call } = service;
const unknownId = 999_999_999;
const nobody = '00000000-0000-4000-8000-000000000000';

rule('S-001 the partner interface is under /partner/v1 and speaks JSON', async () => {
  const { path, token } = await aDealer(service);
  done(await call('GET', path, { token }));
  refused(await call('GET', path.replace('/partner/v1', ''), { token }), 404);
  refused(await call('GET', path.replace('/v1', '/v2'), { token }), 404);
});

rule('S-002 every partner endpoint refuses a request without a token, with 401', async () => {
  const { path } = await aDealer(service);
  for (const [method, endpoint] of [...partnerEndpoints(path), ['POST', '/partner/v1/events'] as const]) {
    const answer = await call(method, endpoint);
    expect(answer.status, `${method} ${endpoint}`).toBe(401);
  }
});

rule('S-002 a token nobody issued is refused with 401', async () => {
  const { path } = await aDealer(service);
  for (const token of ['nobody-issued-this', 'a.b.c', '0']) refused(await call('GET', path, { token }), 401);
});

rule('S-002 an expired token is refused with 401', async () => {
  const { path, id } = await aDealer(service);
  const token = await service.token('partner', { dealers: [id], expires_in: -1 });
  refused(await call('GET', path, { token }), 401);
});

rule('S-002 a scheme other than Bearer is refused; the name of the scheme has no case', async () => {
  const { path, token } = await aDealer(service);
  const as = (authorization: string) => call('GET', path, { headers: { authorization } });
  for (const scheme of ['Basic', 'Token', 'DPoP']) refused(await as(`${scheme} ${token}`), 401);
  refused(await as(token), 401);
  refused(await as('Bearer'), 401);
  for (const scheme of ['bearer', 'BEARER']) done(await as(`${scheme} ${token}`));
});

rule('S-003 a trace id is taken, echoed and written to the log; one that is no UUID is no error', async () => {
  const { path, token } = await aDealer(service);
  const trace = randomUUID();
  const answer = await call('GET', path, { token, headers: { 'x-partner-trace-id': trace } });
  done(answer);
  const odd = await call('GET', path, { token, headers: { 'x-partner-trace-id': 'no uuid' } });
  done(odd);
  const { log } = await service.control('GET', '/log');
  expect(log).toContainEqual(expect.objectContaining({ method: 'GET', path, traceId: trace }));
  expect(answer.headers['x-partner-trace-id']).toBe(trace);
  expect(odd.headers['x-partner-trace-id']).toBeUndefined();
});

rule('S-004 a dealer that is not connected to the token gives 403, for every method and path below it', async () => {
  const mine = await aDealer(service);
  const other = await aSite(service, { dealer: await otherDealer() });
  for (const [method, path] of dealerEndpoints(other.dealer.path, other.id)) {
    const answer = await call(method, path, { token: mine.token });
    expect(answer.status, `${method} ${path}`).toBe(403);
  }
  done(await call('GET', other.path, { token: other.token }));
});

/** One that only a control path can make: a second dealer. */
async function otherDealer() {
  const id = await makeDealer(service);
  return { id, path: `/partner/v1/dealers/${id}`, token: await service.token('partner', { dealers: [id] }) };
}

rule('S-005 an id that does not exist gives 404', async () => {
  const site = await aSite(service);
  const { token, dealer } = site;
  refused(await call('GET', `${dealer.path}/sites/${unknownId}`, { token }), 404);
  refused(await call('GET', `${site.path}/devices/${unknownId}`, { token }), 404);
  refused(await call('GET', `${site.path}/contacts/${unknownId}`, { token }), 404);
  refused(await call('GET', `${dealer.path}/monitoring-stations/${unknownId}`, { token }), 404);
  refused(await call('PATCH', `${site.path}/nvrs/${unknownId}`, { token, json: {} }), 404);
  const json = { contact_id: 1, action: 'dispatch', responded_at: new Date().toISOString() };
  refused(await call('PATCH', `${site.path}/alarm-verifications/${nobody}`, { token, json }), 404);
});

rule('S-005 what was deleted gives 404: site and everything below it, device, contact, station', async () => {
  const site = await aSite(service);
  const { token, dealer } = site;
  const device = await aDevice(service, site);
  const contact = await aContact(service, site);
  const station = await aStation(service, dealer);
  const json = { deviceIds: [Number(device.device_id)] };
  done(await call('POST', `${site.path}/devices/bulk-delete`, { token, json }));
  refused(await call('GET', `${site.path}/devices/${device.device_id}`, { token }), 404);
  const others = [
    `${site.path}/contacts/${contact.contact_id}`,
    `${dealer.path}/monitoring-stations/${station.monitoring_station_id}`,
    site.path,
  ];
  for (const path of others) {
    gone(await call('DELETE', path, { token }));
    refused(await call('GET', path, { token }), 404);
  }
  for (const [method, path] of siteEndpoints(site.path)) {
    const answer = await call(method, path, { token });
    expect(answer.status, `${method} ${path}`).toBe(404);
  }
});

rule('S-006 an unknown dealer gives 404, not 403', async () => {
  const { token } = await aDealer(service);
  refused(await call('GET', `/partner/v1/dealers/${unknownId}`, { token }), 404);
  refused(await call('GET', `/partner/v1/dealers/${unknownId}/sites`, { token }), 404);
});

rule('S-007 what belongs to another dealer or site gives 404 there, though the token reaches both', async () => {
  const [a, b] = [await makeDealer(service), await makeDealer(service)];
  const token = await service.token('partner', { dealers: [a, b] });
  const [first, second] = [a, b].map((id) => ({ id, token, path: `/partner/v1/dealers/${id}` }));
  if (first === undefined || second === undefined) throw new Error('two dealers are needed');
  const site = await aSite(service, { dealer: first });
  const sibling = await aSite(service, { dealer: first });
  const station = await aStation(service, first);
  const contact = await aContact(service, site);
  const device = await aDevice(service, site);
  const nvr = await aNvr(service, site);
  const wrong = [
    `${second.path}/sites/${site.id}`,
    `${second.path}/sites/${site.id}/devices`,
    `${second.path}/monitoring-stations/${station.monitoring_station_id}`,
    `${sibling.path}/contacts/${contact.contact_id}`,
    `${sibling.path}/devices/${device.device_id}`,
  ];
  for (const path of wrong) refused(await call('GET', path, { token }), 404);
  refused(await call('PATCH', `${sibling.path}/nvrs/${nvr.nvr_id}`, { token, json: {} }), 404);
});

rule('S-008 checks come in order: path, token, dealer, parents, body', async () => {
  const { path, token, dealer } = await aSite(service);
  const bad = { json: { name: 7 } };
  refused(await call('PUT', '/partner/v1/nothing-here', bad), 404);
  refused(await call('PUT', `/partner/v1/dealers/${unknownId}`, bad), 401);
  refused(await call('PUT', `/partner/v1/dealers/${unknownId}/sites/1`, { ...bad, token }), 404);
  refused(await call('PUT', `${dealer.path}/sites/${unknownId}`, { ...bad, token }), 404);
  refused(await call('POST', `${dealer.path}/sites/${unknownId}/contacts`, { ...bad, token }), 404);
  refused(await call('PUT', path, { ...bad, token }), 400, 'name');
});

rule('S-008 no body is looked at for a dealer that is not connected', async () => {
  const other = await makeDealer(service);
  const { token } = await aDealer(service);
  const sites = `/partner/v1/dealers/${other}/sites`;
  refused(await call('POST', sites, { token, json: { name: 7 } }), 403);
  refused(await call('PUT', `${sites}/${unknownId}`, { token, json: { name: 7 } }), 403);
});

rule('S-008 nor is what the path names below it, not even whether it is an id', async () => {
  const other = await makeDealer(service);
  const { token } = await aDealer(service);
  const path = `/partner/v1/dealers/${other}`;
  for (const below of ['sites/abc', `sites/${unknownId}/devices/007`, 'monitoring-stations/abc']) {
    refused(await call('GET', `${path}/${below}`, { token }), 403);
  }
});

rule('S-009 a 400 identifies the failed field: missing, of a wrong type, not valid', async () => {
  const { path, token } = await aDealer(service);
  const ask = (json: object) => call('POST', `${path}/sites`, { token, json });
  const whole = { external_site_id: unique('site'), name: 'Hall', timezone: 'Europe/Berlin' };
  for (const field of ['external_site_id', 'name', 'timezone'] as const) {
    refused(await ask({ ...whole, [field]: undefined }), 400, field);
    refused(await ask({ ...whole, [field]: 7 }), 400, field);
  }
  refused(await ask({ ...whole, timezone: 'Mars/Olympus' }), 400, 'timezone');
  expect(
    rows(await call('GET', `${path}/sites?filter=external_site_id,${whole.external_site_id},eq`, { token })),
  ).toEqual([]);
});

rule('S-010 an error body holds statusCode, error, message, the first field and all of them', async () => {
  const { path, token } = await aDealer(service);
  const body = refused(await call('POST', `${path}/sites`, { token, json: { name: 7 } }), 400);
  expect(body).toMatchObject({ statusCode: 400, error: 'Bad Request', message: text });
  expect(body.errors).toEqual(expect.arrayContaining([{ field: 'external_site_id', message: text }]));
  expect(body.errors).toEqual(expect.arrayContaining([{ field: 'name', message: text }]));
  expect(body.field).toBe(body.errors?.[0]?.field);
  const others = [
    [401, await call('GET', path)],
    [404, await call('GET', `${path}/sites/${unknownId}`, { token })],
    [403, await call('PUT', '/partner/v1/dealers/connect', { token, json: {} })],
  ] as const;
  for (const [status, answer] of others) {
    expect(refused(answer, status)).toMatchObject({ statusCode: status, error: text, message: text });
    expect(answer.json).not.toHaveProperty('field');
  }
});

rule('S-011 a body that is no JSON, empty, or of another JSON type gives 400 for the body', async () => {
  const { path, token } = await aDealer(service);
  const headers = { 'content-type': 'application/json' };
  for (const body of ['{"name":', 'name=Hall', '', '[]', '"text"', '7', 'null', 'true', '{"a":1}{"b":2}']) {
    refused(await call('POST', `${path}/sites`, { token, headers, body }), 400, 'body');
  }
});

rule('S-011 a wrong content type gives 400, not 415', async () => {
  const { path, token } = await aDealer(service);
  const body = JSON.stringify({ company_name: 'Guards' });
  for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded']) {
    refused(await call('PUT', path, { token, body, headers: { 'content-type': type } }), 400, 'content-type');
  }
  done(await call('PUT', path, { token, body, headers: { 'content-type': 'application/json; charset=utf-8' } }));
});

rule('S-012 unknown members and query parameters are ignored', async () => {
  const { path, token } = await aDealer(service);
  const json = { external_site_id: unique('site'), name: 'Hall', timezone: 'Europe/Berlin', colour: 'red' };
  const site = done(await call('POST', `${path}/sites?colour=red`, { token, json }), 201);
  expect(site).not.toHaveProperty('colour');
  done(await call('GET', `${path}?colour=red`, { token }));
});

rule('S-013 null for an optional text is a wrong type; what is absent stays as it is', async () => {
  const site = await aSite(service, { body: { address1: 'Main street 1', account_number: '0815' } });
  const { path, token } = site;
  for (const field of ['name', 'address1', 'address2', 'account_number', 'timezone', 'external_site_id']) {
    refused(await call('PUT', path, { token, json: { [field]: null } }), 400, field);
  }
  const changed = done(await call('PUT', path, { token, json: { address2: 'Floor 2' } }));
  expect(changed).toMatchObject({ address1: 'Main street 1', address2: 'Floor 2', account_number: '0815' });
});

rule('S-014 a required text that is empty or blank gives 400', async () => {
  const { path, token } = await aDealer(service);
  const whole = { external_site_id: unique('site'), name: 'Hall', timezone: 'Europe/Berlin' };
  for (const field of ['external_site_id', 'name', 'timezone'] as const) {
    for (const blank of ['', ' ', '\t \n']) {
      refused(await call('POST', `${path}/sites`, { token, json: { ...whole, [field]: blank } }), 400, field);
    }
  }
});

rule('S-014 names and addresses have 255 characters at most, other texts 4 KiB, bodies 1 MiB', async () => {
  const { path, token } = await aSite(service);
  const put = (json: object) => call('PUT', path, { token, json });
  done(await put({ name: 'n'.repeat(255), address1: 'a'.repeat(255), account_number: '1'.repeat(4096) }));
  refused(await put({ name: 'n'.repeat(256) }), 400, 'name');
  refused(await put({ address1: 'a'.repeat(256) }), 400, 'address1');
  refused(await put({ account_number: '1'.repeat(4097) }), 400, 'account_number');
  refused(await put({ name: 'n'.repeat(1024 * 1024) }), 413);
});

rule('S-015 an unknown path gives 404, another method on a known one 405 with Allow', async () => {
  const { path, token } = await aSite(service);
  refused(await call('GET', `${path}/nothing-here`, { token }), 404);
  const allowed = [
    ['POST', path, ['DELETE', 'GET', 'PUT']],
    ['DELETE', `${path}/devices`, ['GET', 'POST', 'PUT']],
    ['PUT', `${path}/arming-settings`, ['GET', 'PATCH']],
    ['GET', '/partner/v1/events', ['POST']],
    ['GET', '/oauth/token', ['POST']],
  ] as const;
  for (const [method, known, methods] of allowed) {
    const answer = await call(method, known, { token });
    refused(answer, 405);
    const allow = String(answer.headers.allow).split(/ *, */);
    expect(allow, known).toEqual(expect.arrayContaining([...methods]));
    expect(allow, known).not.toContain(method);
  }
});

rule('S-016 an id in a path is a canonical decimal number; everything else addresses nothing', async () => {
  const site = await aSite(service);
  const { token, dealer } = site;
  const odd = [`0${site.id}`, `+${site.id}`, `${site.id}.0`, `${site.id}e0`, '1e3', '0', '-1', 'abc', '9'.repeat(17)];
  for (const id of [...odd, `%20${site.id}`, site.externalId, '%2e%2e', '%00']) {
    refused(await call('GET', `${dealer.path}/sites/${id}`, { token }), 404);
  }
  refused(await call('GET', `/partner/v1/dealers/0${dealer.id}`, { token }), 404);
  const read = done(await call('GET', site.path, { token }));
  expect(read.site_id).toBe(site.id);
});

rule('S-017 an id in a body is a number; the same digits as text give 400', async () => {
  const site = await aSite(service);
  const { path, token, dealer } = site;
  const station = await aStation(service, dealer);
  const json = { monitoring_station_id: String(station.monitoring_station_id) };
  refused(await call('PUT', path, { token, json }), 400, 'monitoring_station_id');
  const device = await aDevice(service, site);
  const ids = { deviceIds: [String(device.device_id)] };
  refused(await call('POST', `${path}/devices/bulk-delete`, { token, json: ids }), 400, 'deviceIds');
});

rule('S-018 times are ISO 8601', async () => {
  const { path, token, dealer } = await aSite(service);
  expect(done(await call('GET', path, { token })).created_at).toEqual(time);
  expect(done(await call('GET', dealer.path, { token })).created_at).toEqual(time);
});

rule('S-019 lists are bare arrays, without a total and without links', async () => {
  const site = await aSite(service);
  const { path, token, dealer } = site;
  const lists = [
    `${dealer.path}/sites`,
    `${dealer.path}/monitoring-stations`,
    `${path}/contacts`,
    `${path}/devices`,
    `${path}/activity-logs`,
  ];
  for (const list of lists) {
    const answer = await call('GET', list, { token });
    rows(answer);
    expect(answer.headers).not.toHaveProperty('link');
    expect(answer.headers).not.toHaveProperty('x-total-count');
  }
});

rule('S-020 a 401 challenges; no answer may be stored; each has a request id', async () => {
  const { path, token } = await aDealer(service);
  const [open, refusal] = [await call('GET', path, { token }), await call('GET', path)];
  expect(refusal.headers['www-authenticate']).toMatch(/^Bearer realm="partner"/);
  for (const { headers } of [open, refusal]) {
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['x-request-id']).toMatch(/\S/);
  }
  expect(open.headers['x-request-id']).not.toBe(refusal.headers['x-request-id']);
});

rule('S-023 a token of one kind does not open the interface of another', async () => {
  const { path, token, id } = await aDealer(service);
  const dealers = [id];
  const event = await service.token('event', { may_ingest: true });
  const key = await service.token('api_key', { dealers });
  const post = (bearer: string) => call('POST', '/partner/v1/events', { token: bearer, json: eventBody() });
  refused(await post(token), 403);
  refused(await call('GET', path, { token: event }), 403);
  refused(await post(key), 401);
  refused(await call('GET', path, { token: key }), 401);
  const site = await aSite(service, { dealer: { id, path, token } });
  for (const bearer of [token, event]) {
    const audio = `/ext/v1/sites/${site.id}/audio-messages`;
    refused(await call('GET', audio, { token: bearer, to: 'ext' }), 401);
    refused(await call('GET', `/v1/sites/${site.id}/audit-log`, { token: bearer }), 401);
  }
});

rule('S-005 a verification that is not there is told from one that is', async () => {
  const site = await aSite(service);
  const contact = await aContact(service, site);
  const verification = await aVerification(service, site, contact);
  const json = { contact_id: Number(contact.contact_id), action: 'disregard', responded_at: new Date().toISOString() };
  done(await call('PATCH', verification.path, { token: site.token, json }));
  refused(await call('PATCH', verification.path.replace(verification.id, nobody), { token: site.token, json }), 404);
});
