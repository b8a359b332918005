import type { Management } from '#cloud/client/index.ts';
import type { ContactCreate, ContactUpdate } from '#cloud/contract/index.ts';
import { isCode, SitewardError } from '#errors.ts';
import { given } from '#lib/given.ts';
import { asListed, atCloud, type ChangeOptions, carryOut, changedMembers, type Members } from '../cloud/change.ts';
import type { ExitCode } from '../exit-codes.ts';
import { printable } from '../table.ts';

export interface ContactMembers {
  readonly externalId?: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly phone?: string;
  readonly email?: string;
}

/** What was given, as the service names it. */
export const membersOf = ({ externalId, firstName, lastName, phone, email }: ContactMembers): Members =>
  given({
    external_contact_id: externalId,
    first_name: firstName,
    last_name: lastName,
    phone_number: phone,
    email,
  });

/** `siteward contact add`. */
export const add = (options: ChangeOptions & ContactMembers): Promise<ExitCode> =>
  atCloud(options, async ({ manage, place: params }) => {
    const body = membersOf(options) as ContactCreate;
    return carryOut(
      {
        ...{ what: 'add a contact', target: `to site ${params.siteId}`, to: body },
        noted: { action: 'contact_added', site_id: params.siteId },
        madeId: (made) => String((made as Members).contact_id),
        act: async (signal) => asListed(await manage.createContact({ params, body, signal })),
      },
      options,
    );
  });

/** `siteward contact set`. */
export const set = (options: ChangeOptions & ContactMembers & { readonly id: string }): Promise<ExitCode> =>
  atCloud(options, async ({ manage, place, signal }) => {
    const params = { ...place, contactId: options.id };
    const [from, to] = [await contactOf(manage, params, signal), membersOf(options)];
    const body = changedMembers(from, to) as ContactUpdate;
    return carryOut(
      {
        ...{ what: 'change a contact', target: nameOf(from), from, to },
        noted: { action: 'contact_changed', site_id: place.siteId, ids: [options.id] },
        act: async (signal) => asListed(await manage.updateContact({ params, body, signal })),
      },
      options,
    );
  });

/** `siteward contact delete`. */
export const remove = (options: ChangeOptions & { readonly id: string }): Promise<ExitCode> =>
  atCloud(options, async ({ manage, place, signal }) => {
    const params = { ...place, contactId: options.id };
    const { value: site } = await manage.getSite({ params: place, signal });
    const contact = await contactOf(manage, params, signal);
    const loses = 'the contact; a request to verify an alarm can no more be asked of this person';
    return carryOut(
      {
        ...{ what: 'delete a contact', target: nameOf(contact) },
        noted: { action: 'contact_deleted', site_id: place.siteId, ids: [options.id] },
        permanent: { loses, site },
        async act(signal) {
          await manage.deleteContact({ params, signal });
          return undefined;
        },
      },
      options,
    );
  });

async function contactOf(
  manage: Management,
  params: { readonly dealerId: string; readonly siteId: string; readonly contactId: string },
  signal: AbortSignal,
) {
  try {
    return (await manage.getContact({ params, signal })).value;
  } catch (cause) {
    if (!isCode(cause, 'cloud_not_found')) throw cause;
    const said = `there is no contact ${printable(params.contactId)} at this site; "siteward contact list" shows them with their ids`;
    throw new SitewardError('cloud_not_found', said);
  }
}

const nameOf = (one: {
  readonly contact_id: string;
  readonly first_name?: string | undefined;
  readonly last_name?: string | undefined;
}): string => `${[one.first_name, one.last_name].filter(Boolean).join(' ')} (${one.contact_id})`;
