import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { answerTime, id, name, record, requiredName, requiredText, text } from './fields.ts';
import { checkedRefusals, dealerParams, dealerPath, json, partner, refusals } from './partner.ts';

/** S-050. What was never set is empty text; a dealer without a partner has no external id. */
export const dealer = z.object({
  dealer_id: id(),
  external_dealer_id: z.string().nullable(),
  company_name: z.string(),
  company_address1: z.string(),
  company_address2: z.string(),
  company_email: z.string(),
  company_phone_number: z.string(),
  created_at: answerTime(),
});
export type Dealer = z.output<typeof dealer>;

export const dealerConnect = record({ external_dealer_id: requiredText(), company_name: requiredName() });

/** Absent members stay as they are; e-mail and telephone are taken as written (S-057). */
export const dealerUpdate = record({
  company_name: requiredName().optional(),
  company_address1: name().optional(),
  company_address2: name().optional(),
  company_email: text().optional(),
  company_phone_number: text().optional(),
});
export type DealerUpdate = z.output<typeof dealerUpdate>;

const shared = { ...partner, tags: ['dealers'] } as const;

/** Must be bound before the operations on `{dealerId}`: `connect` is a word here, not an id (S-058). */
const connectDealer = defineOperation({
  ...shared,
  id: 'connectDealer',
  method: 'PUT',
  path: '/partner/v1/dealers/connect',
  summary: 'Bind the dealer of a user-bound token to the id the partner gives it',
  body: json(dealerConnect),
  responses: {
    200: { description: 'The connected dealer', schema: dealer },
    400: checkedRefusals[400],
    401: refusals[401],
    403: { ...refusals[403], description: 'The token is not bound to a user' },
  },
  auth: ['user'],
  repeatable: 'yes',
  availability: 'only A',
  rules: ['S-033', 'S-051', 'S-052', 'S-053', 'S-058'],
});

const disconnectDealer = defineOperation({
  ...shared,
  id: 'disconnectDealer',
  method: 'PUT',
  path: `${dealerPath}/disconnect`,
  summary: 'Remove the binding of a dealer; its sites stay, but the partner no longer reaches them',
  params: dealerParams,
  responses: { 200: { description: 'The disconnected dealer', schema: dealer }, ...refusals },
  repeatable: 'yes',
  availability: 'only A',
  rules: ['S-054', 'S-055'],
});

const getDealer = defineOperation({
  ...shared,
  id: 'getDealer',
  method: 'GET',
  path: dealerPath,
  summary: 'Read a dealer',
  params: dealerParams,
  responses: { 200: { description: 'The dealer', schema: dealer }, ...refusals },
  repeatable: 'yes',
  availability: 'only A',
  rules: ['S-050', 'S-056'],
});

const updateDealer = defineOperation({
  ...shared,
  id: 'updateDealer',
  method: 'PUT',
  path: dealerPath,
  summary: 'Change the company data of a dealer',
  params: dealerParams,
  body: json(dealerUpdate),
  responses: { 200: { description: 'The updated dealer', schema: dealer }, ...checkedRefusals },
  repeatable: 'yes',
  availability: 'ready for B',
  rules: ['S-050', 'S-057'],
});

export const dealerOperations = { connectDealer, disconnectDealer, getDealer, updateDealer } as const;
