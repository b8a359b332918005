import { contactOperations } from '#cloud/contract/index.ts';
import type { Reply } from '#lib/contract/server.ts';
import { badField, isReply, notFound, numberOf, onSite, type Params } from '../access.ts';
import { changed, namesOf } from '../changes.ts';
import { partnerResource } from '../partner-resource.ts';
import type { Resource } from '../resource.ts';
import type { CloudState } from '../state.ts';
import { contactOf } from '../world/answers.ts';
import { addContact } from '../world/create.ts';
import type { ContactRow, SiteRow } from '../world/rows.ts';

export function contactsResource(state: CloudState): Resource {
  const { world } = state;
  const find = (params: Params, site: SiteRow): ContactRow | Reply => {
    const contact = world.contacts.get(numberOf(params.contactId));
    return contact?.site_id === site.site_id ? contact : notFound('contact');
  };
  const taken = (site: SiteRow, external: string | undefined, self?: ContactRow): Reply | undefined => {
    const twin = world.contacts.of(site.site_id).find((known) => known.external_contact_id === external);
    if (twin === undefined || twin.contact_id === self?.contact_id) return undefined;
    return badField('external_contact_id', 'is used by another contact of this site');
  };
  // Names of people stay out of the log: it outlives them.
  const note = (site: SiteRow, word: string, what: string) =>
    world.note(site.site_id, { type: `contact_${word}`, description: what, at: state.time() });
  return partnerResource(
    state,
    contactOperations,
    {
      createContact: onSite(state, ({ body }, site) => {
        const wrong = taken(site, body.external_contact_id);
        if (wrong !== undefined) return wrong;
        const contact = addContact(world, site.site_id, body, { at: state.time() });
        note(site, 'created', `contact ${contact.contact_id} created`);
        return { status: 201, body: contactOf(contact) };
      }),
      listContacts: onSite(state, (_, site) => ({ status: 200, body: world.contacts.of(site.site_id).map(contactOf) })),
      getContact: onSite(state, ({ params }, site) => {
        const contact = find(params, site);
        return isReply(contact) ? contact : { status: 200, body: contactOf(contact) };
      }),
      updateContact: onSite(state, ({ params, body }, site) => {
        const contact = find(params, site);
        if (isReply(contact)) return contact;
        const wrong = taken(site, body.external_contact_id, contact);
        if (wrong !== undefined) return wrong;
        const row = world.contacts.put({ ...changed(contact, body), updated_at: state.time() });
        note(site, 'updated', `contact ${contact.contact_id} changed: ${namesOf(body)}`);
        return { status: 200, body: contactOf(row) };
      }),
      deleteContact: onSite(state, ({ params }, site) => {
        const contact = find(params, site);
        if (isReply(contact)) return contact;
        world.contacts.delete(contact.contact_id);
        note(site, 'deleted', `contact ${contact.contact_id} deleted`);
        return { status: 204 };
      }),
    },
    (params, _, site) => (params.contactId === undefined || site === undefined ? undefined : find(params, site)),
  );
}
