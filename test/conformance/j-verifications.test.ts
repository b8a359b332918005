import { expect } from 'vitest';
import { done, refused, rows, time } from './answers.ts';
import { aContact, aSite, aVerification, nowText, type Site } from './fixtures.ts';
import type { Loose } from './http.ts';
import { conformance } from './server.ts';

const service = conformance();
const { rule, call } = service;

interface Pending {
  readonly site: Site;
  readonly contact: Loose;
  readonly id: string;
  readonly path: string;
}

async function pending(expiresIn?: number): Promise<Pending> {
  const site = await aSite(service);
  const contact = await aContact(service, site);
  return { site, contact, ...(await aVerification(service, site, contact, expiresIn)) };
}

const answerOf = (one: Pending, members: object = {}) => ({
  contact_id: one.contact.contact_id,
  action: 'dispatch',
  responded_at: nowText(-1000),
  ...members,
});

/** Both response calls; they have the same rules (S-155). */
const calls = [
  ['PATCH', ''],
  ['POST', '/response'],
] as const;

rule('S-150 a verification is answered with dispatch or disregard, which is echoed', async () => {
  for (const action of ['dispatch', 'disregard']) {
    const one = await pending();
    const { token } = one.site;
    const body = done(await call('PATCH', one.path, { token, json: answerOf(one, { action }) }));
    expect(body.action).toBe(action);
  }
});

rule('S-150 contact_id, action and responded_at are required, each of its type', async () => {
  const one = await pending();
  const { token } = one.site;
  const wrong = [
    ['contact_id', [undefined, String(one.contact.contact_id), null]],
    ['action', [undefined, 'ignore', 'Dispatch', 1, null]],
    ['responded_at', [undefined, 'now', 1_700_000_000, null, '2030-02-30T00:00:00Z']],
  ] as const;
  for (const [field, values] of wrong) {
    for (const value of values) {
      refused(await call('PATCH', one.path, { token, json: answerOf(one, { [field]: value }) }), 400, field);
    }
  }
});

rule('S-151 an unknown or expired verification gives 404 in both calls', async () => {
  const one = await pending();
  const late = await pending(-1);
  for (const [method, rest] of calls) {
    const unknown = `${one.path.replace(one.id, '00000000-0000-4000-8000-000000000000')}${rest}`;
    refused(await call(method, unknown, { token: one.site.token, json: answerOf(one) }), 404);
    refused(await call(method, `${late.path}${rest}`, { token: late.site.token, json: answerOf(late) }), 404);
  }
});

rule('S-151 the clock of the service decides on arrival, not responded_at', async () => {
  const one = await pending();
  const json = answerOf(one);
  const { token } = one.site;
  await service.withClock(301, async () => {
    const bearer = await service.token('partner', { dealers: [one.site.dealer.id] });
    for (const [method, rest] of calls) refused(await call(method, `${one.path}${rest}`, { token: bearer, json }), 404);
  });
  done(await call('PATCH', one.path, { token, json: answerOf(one, { responded_at: nowText(-86_400_000) }) }));
});

rule('S-152 an id that is no UUID, and a verification of another site, give 404', async () => {
  const one = await pending();
  const { token } = one.site;
  const json = answerOf(one);
  for (const id of ['1', 'abc', one.id.slice(0, -1), `${one.id}0`]) {
    refused(await call('PATCH', one.path.replace(one.id, id), { token, json }), 404);
  }
  const elsewhere = await aSite(service, { dealer: one.site.dealer });
  refused(await call('PATCH', `${elsewhere.path}/alarm-verifications/${one.id}`, { token, json }), 404);
});

rule('S-152 a contact that the site does not have, and a time in the future, give 400', async () => {
  const one = await pending();
  const { token } = one.site;
  const foreign = await aContact(service, await aSite(service, { dealer: one.site.dealer }));
  for (const contact_id of [999_999_999, foreign.contact_id]) {
    refused(await call('PATCH', one.path, { token, json: answerOf(one, { contact_id }) }), 400, 'contact_id');
  }
  const json = answerOf(one, { responded_at: nowText(600_000) });
  refused(await call('PATCH', one.path, { token, json }), 400, 'responded_at');
  done(await call('PATCH', one.path, { token, json: answerOf(one, { responded_at: nowText(120_000) }) }));
});

rule('S-153 a second answer is taken, the last one counts, and both are in the activity log', async () => {
  const one = await pending();
  const { token, path } = one.site;
  for (const action of ['disregard', 'disregard', 'dispatch']) {
    const body = done(await call('PATCH', one.path, { token, json: answerOf(one, { action }) }));
    expect(body.action).toBe(action);
  }
  const log = rows(await call('GET', `${path}/activity-logs`, { token })).map((entry) => String(entry.description));
  const about = (action: string) => log.findIndex((line) => line.includes(action) && line.includes(one.id));
  expect(about('dispatch')).toBeGreaterThanOrEqual(0);
  expect(about('disregard')).toBeGreaterThan(about('dispatch'));
});

rule('S-154 the answer holds the verification, the contact, the action and the time', async () => {
  const one = await pending();
  const body = done(await call('PATCH', one.path, { token: one.site.token, json: answerOf(one) }));
  expect(body).toEqual({
    verification_id: one.id,
    contact_id: one.contact.contact_id,
    action: 'dispatch',
    responded_at: time,
  });
});

rule('S-155 POST .../response takes the same body under the same rules', async () => {
  const one = await pending();
  const { token } = one.site;
  const respond = (members: object) => call('POST', `${one.path}/response`, { token, json: answerOf(one, members) });
  refused(await respond({ action: 'ignore' }), 400, 'action');
  refused(await respond({ contact_id: 999_999_999 }), 400, 'contact_id');
  refused(await respond({ responded_at: undefined }), 400, 'responded_at');
  const body = done(await respond({ action: 'disregard' }));
  expect(body).toMatchObject({ verification_id: one.id, action: 'disregard' });
});

rule('S-156 a verification lives 300 seconds unless said otherwise', async () => {
  const site = await aSite(service);
  const contact = await aContact(service, site);
  const { verification_id } = await service.control('POST', '/verifications', {
    dealer_id: site.dealer.id,
    site_id: site.id,
    contact_id: contact.contact_id,
  });
  const path = `${site.path}/alarm-verifications/${verification_id}`;
  const json = { contact_id: contact.contact_id, action: 'dispatch', responded_at: nowText() };
  await service.withClock(305, async () => void refused(await call('PATCH', path, { token: site.token, json }), 404));
  await service.withClock(290, async () => void done(await call('PATCH', path, { token: site.token, json })));
});

rule('S-157 what was answered cannot be answered after its expiry either', async () => {
  const one = await pending();
  const { token } = one.site;
  const json = answerOf(one);
  done(await call('PATCH', one.path, { token, json }));
  await service.withClock(301, async () => void refused(await call('PATCH', one.path, { token, json }), 404));
});
