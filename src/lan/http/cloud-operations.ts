import { z } from 'zod';
import {
  apiError,
  armPartition,
  audioOperations,
  audioOperationsFor,
  bypassRequest,
  bypassZones,
  captureSnapshot,
  disarmPartition,
  dispatchResponder,
  getAuditLog,
  getPartition,
} from '#cloud/contract/index.ts';
import { type PermittedOperation, permissions } from '#lan/access/index.ts';
import { defineOperation, type Operation } from '#lib/contract/operation.ts';
import { personCode } from '#site/model/index.ts';
import { credentials } from './lan-operation.ts';

/**
 * The cloud's public and audio interfaces as this bridge serves them for its one site: paths, bodies and answers are the contract's,
 * so that what was written against the cloud works here while the line is down. Ids may be ours, too. What is not the cloud's: an
 * optional code, and refusals that a service far away has no reason for.
 */

const id = z.string().min(1).max(255);
const refusal = (description: string) => ({ description, schema: apiError }) as const;
const common = {
  403: refusal('This account or API key may not, or a code is needed or wrong'),
  503: refusal('It cannot be done at the moment'),
} as const;
const asThingsAre = refusal('It is not done as things are; the message says why and what to do');
const tooOften = refusal('Too many wrong codes, or commands without a code; Retry-After says how long to wait');
const notConfirmed = refusal('Nobody knows what became of it; look before asking again');
const notValid = refusal('A field is not valid');

/** Who may do it stands in the table of permissions, by its id (ADR 16). */
function onTheLan<
  const O extends Operation & { readonly id: PermittedOperation },
  const M extends Partial<Operation> & Pick<Operation, 'responses'>,
>(operation: O, more: M) {
  return {
    ...operation,
    ...more,
    base: 'lan',
    auth: credentials(permissions[operation.id]),
    responses: { ...operation.responses, ...common, ...more.responses },
    tags: ["the cloud's paths"],
  } as Omit<O, keyof M | 'base' | 'auth' | 'responses' | 'tags'> & Omit<M, 'responses'> & Operation;
}

const coded = z
  .object(
    { code: personCode.exactOptional().describe('Code of a person; it is neither kept nor logged.') },
    { error: 'must be an object' },
  )
  .describe('May be left out.');
const optionalCode = { media: 'application/json', schema: coded, optional: true } as const;
const commandRefusals = { 400: notValid, 409: asThingsAre, 429: tooOften, 504: notConfirmed } as const;
const commandRules = ['safety 4', 'safety 5', 'C8'] as const;

const siteParams = { params: z.object({ site_id: id }) } as const;
const messageParams = { params: z.object({ site_id: id, audio_message_id: id }) } as const;
const playRefusals = { 409: asThingsAre } as const;

const audio = {
  listAudioMessages: onTheLan(audioOperations.listAudioMessages, { ...siteParams, responses: {} }),
  playAudioMessage: onTheLan(audioOperations.playAudioMessage, { ...messageParams, responses: playRefusals }),
  listReferencedAudioMessages: onTheLan(audioOperations.listReferencedAudioMessages, { responses: {} }),
  playReferencedAudioMessage: onTheLan(audioOperations.playReferencedAudioMessage, { responses: playRefusals }),
} as const;

/** Not the cloud's: where the address of a picture leads to. It takes the same rights as taking one. */
const getTakenPicture = defineOperation({
  id: 'getTakenPicture',
  method: 'GET',
  path: '/v1/snapshots/{snapshot_id}',
  base: 'lan',
  summary: 'A picture that was taken on demand, for two minutes',
  params: z.object({ snapshot_id: id }),
  responses: {
    200: { description: 'The picture', media: 'image/jpeg' },
    401: refusal('The API key is missing or wrong'),
    404: refusal('It is not here any more, or never was'),
    ...common,
  },
  auth: credentials(permissions.getTakenPicture),
  repeatable: 'yes',
  rules: ['S-179', 'safety 11'],
  tags: ["the cloud's paths"],
});

export const cloudOperations = {
  ...audio,
  armPartition: onTheLan(armPartition, {
    body: optionalCode,
    responses: commandRefusals,
    rules: ['S-041', 'S-178', ...commandRules],
  }),
  disarmPartition: onTheLan(disarmPartition, {
    body: optionalCode,
    responses: commandRefusals,
    rules: ['S-041', 'S-179', ...commandRules],
  }),
  bypassZones: onTheLan(bypassZones, {
    body: { media: 'application/json', schema: bypassRequest.extend(coded.shape) },
    responses: commandRefusals,
    rules: ['S-041', 'S-179', ...commandRules],
  }),
  /** The name is taken by the LAN API's own. */
  readPartition: onTheLan(
    { ...getPartition, id: 'readPartition' },
    { responses: {}, rules: ['S-041', 'S-179', 'safety 2', 'safety 4'] },
  ),
  captureSnapshot: onTheLan(captureSnapshot, {
    responses: { 409: asThingsAre },
    rules: ['S-041', 'S-179', 'safety 11'],
  }),
  getTakenPicture,
  dispatchResponder: onTheLan(dispatchResponder, {
    responses: {
      501: refusal('The configuration names no way to ask the service'),
      502: refusal('The service refused; nobody was called'),
      503: refusal('It could not leave; nobody was called'),
      504: refusal('It may have arrived, or not'),
    },
  }),
  getAuditLog: onTheLan(getAuditLog, { responses: {}, rules: ['S-041', 'S-145', 'S-179', 'safety 4', 'safety 11'] }),
} as const;

/** With the reference path of a dialect (S-175). */
export function cloudOperationsFor(referencePath: string): typeof cloudOperations {
  const { listReferencedAudioMessages, playReferencedAudioMessage } = audioOperationsFor({ ref_path: referencePath });
  return {
    ...cloudOperations,
    listReferencedAudioMessages: {
      ...cloudOperations.listReferencedAudioMessages,
      path: listReferencedAudioMessages.path,
    },
    playReferencedAudioMessage: {
      ...cloudOperations.playReferencedAudioMessage,
      path: playReferencedAudioMessage.path,
    },
  };
}
