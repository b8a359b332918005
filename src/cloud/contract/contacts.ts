import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { answerTime, id, pathId, record, requiredName, requiredText, text } from './fields.ts';
import { checkedRefusals, json, noContent, partner, refusals, siteParams, sitePath } from './partner.ts';

/** The specification shows no answer; the id has the name and type it has in verifications (S-111). */
export const contact = z.object({
  contact_id: id(),
  external_contact_id: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  phone_number: z.string(),
  email: z.string(),
  created_at: answerTime(),
  updated_at: answerTime(),
});
export type Contact = z.output<typeof contact>;

/** Telephone and e-mail are taken as written (S-111). */
export const contactCreate = record({
  external_contact_id: requiredText(),
  first_name: requiredName(),
  last_name: requiredName(),
  phone_number: text().optional(),
  email: text().optional(),
});
export type ContactCreate = z.output<typeof contactCreate>;

/** The fields of the update are not shown: all of them, each optional (S-111). */
export const contactUpdate = contactCreate.partial();
export type ContactUpdate = z.output<typeof contactUpdate>;

const shared = { ...partner, tags: ['contacts'] } as const;
const listPath = `${sitePath}/contacts` as const;
const onePath = `${listPath}/{contactId}` as const;
const params = siteParams.extend({ contactId: pathId() });

const createContact = defineOperation({
  ...shared,
  id: 'createContact',
  method: 'POST',
  path: listPath,
  summary: 'Create a contact of a site',
  params: siteParams,
  body: json(contactCreate),
  responses: { 201: { description: 'The new contact', schema: contact }, ...checkedRefusals },
  repeatable: 'no',
  rules: ['S-110', 'S-111'],
});

const listContacts = defineOperation({
  ...shared,
  id: 'listContacts',
  method: 'GET',
  path: listPath,
  summary: 'List the contacts of a site',
  params: siteParams,
  responses: { 200: { description: 'All of them', schema: z.array(contact) }, ...refusals },
  repeatable: 'yes',
  rules: ['S-019', 'S-093', 'S-110', 'S-111'],
});

const getContact = defineOperation({
  ...shared,
  id: 'getContact',
  method: 'GET',
  path: onePath,
  summary: 'Read a contact',
  params,
  responses: { 200: { description: 'The contact', schema: contact }, ...refusals },
  repeatable: 'yes',
  rules: ['S-110', 'S-111'],
});

const updateContact = defineOperation({
  ...shared,
  id: 'updateContact',
  method: 'PUT',
  path: onePath,
  summary: 'Change a contact',
  params,
  body: json(contactUpdate),
  responses: { 200: { description: 'The updated contact', schema: contact }, ...checkedRefusals },
  repeatable: 'yes',
  rules: ['S-110', 'S-111'],
});

const deleteContact = defineOperation({
  ...shared,
  id: 'deleteContact',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete a contact',
  params,
  responses: { ...noContent, ...refusals },
  repeatable: 'yes',
  rules: ['S-110'],
});

export const contactOperations = { createContact, listContacts, getContact, updateContact, deleteContact } as const;
