import { expect } from 'vitest';
import { done, gone, number, refused, rows, time } from './answers.ts';
import { aContact, aSite } from './fixtures.ts';
import { conformance, unique } from './server.ts';

const service = conformance();
const { rule, call } = service;

rule('S-110 a contact is created from three required texts and two optional ones', async () => {
  const { path, token } = await aSite(service);
  const create = (json: object) => call('POST', `${path}/contacts`, { token, json });
  const least = { external_contact_id: unique('contact'), first_name: 'Ada', last_name: 'Byron' };
  expect(done(await create(least), 201)).toMatchObject(least);
  const most = { ...least, external_contact_id: unique('contact'), phone_number: '+49 30 1', email: 'a@example.com' };
  expect(done(await create(most), 201)).toMatchObject(most);
  for (const field of Object.keys(least)) refused(await create({ ...most, [field]: undefined }), 400, field);
  for (const field of Object.keys(most)) refused(await create({ ...most, [field]: 7 }), 400, field);
});

rule('S-110 contacts are listed, read, changed and deleted; then they are 404', async () => {
  const site = await aSite(service);
  const { token } = site;
  const contact = await aContact(service, site);
  const path = `${site.path}/contacts/${contact.contact_id}`;
  expect(rows(await call('GET', `${site.path}/contacts`, { token }))).toEqual([contact]);
  expect(done(await call('GET', path, { token }))).toEqual(contact);
  expect(done(await call('PUT', path, { token, json: { first_name: 'Eve' } })).first_name).toBe('Eve');
  expect(done(await call('GET', path, { token }))).toMatchObject({ first_name: 'Eve', last_name: 'Byron' });
  gone(await call('DELETE', path, { token }));
  refused(await call('GET', path, { token }), 404);
  refused(await call('PUT', path, { token, json: {} }), 404);
  refused(await call('DELETE', path, { token }), 404);
  expect(rows(await call('GET', `${site.path}/contacts`, { token }))).toEqual([]);
});

rule('S-111 a contact is answered with eight members', async () => {
  const external_contact_id = unique('contact');
  const contact = await aContact(service, await aSite(service), { external_contact_id, email: 'not an address' });
  expect(contact).toEqual({
    contact_id: number,
    external_contact_id,
    first_name: 'Ada',
    last_name: 'Byron',
    phone_number: '',
    email: 'not an address',
    created_at: time,
    updated_at: time,
  });
});

rule(
  'S-111 all five members can be changed; an external id in use gives 400; ids are unique in the service',
  async () => {
    const site = await aSite(service);
    const { token } = site;
    const contact = await aContact(service, site);
    const other = await aContact(service, site);
    const path = `${site.path}/contacts/${contact.contact_id}`;
    const json = {
      external_contact_id: unique('c'),
      first_name: 'E',
      last_name: 'F',
      phone_number: 'none',
      email: '?',
    };
    expect(done(await call('PUT', path, { token, json }))).toMatchObject(json);
    const taken = { external_contact_id: other.external_contact_id };
    refused(await call('PUT', path, { token, json: taken }), 400, 'external_contact_id');
    const twin = { ...json, external_contact_id: other.external_contact_id };
    refused(await call('POST', `${site.path}/contacts`, { token, json: twin }), 400, 'external_contact_id');
    const elsewhere = await aContact(service, await aSite(service, { dealer: site.dealer }));
    const ids = [contact, other, elsewhere].map((one) => one.contact_id);
    expect(new Set(ids).size).toBe(3);
  },
);
