import { stringify } from 'yaml';
import { z } from 'zod';
import {
  activityLog,
  apiError,
  armingSetting,
  armingStatus,
  audioMessage,
  clientCredentialsToken,
  cloudOperations,
  contact,
  dealer,
  device,
  eventAnswer,
  eventError,
  jwtBearerToken,
  monitoringStation,
  nvr,
  oauthError,
  partitionState,
  partitionStatus,
  partnerError,
  playback,
  site,
  siteWithBridge,
  tokenAnswer,
} from '#cloud/contract/index.ts';
import type { JsonObject, OpenApiOptions } from '#lib/contract/openapi.ts';
import { defineOperation, type Operation } from '#lib/contract/operation.ts';

/** The document as the text of a file that says where it comes from. */
export const yamlPage = (madeFrom: string, document: object): string =>
  `# Made from ${madeFrom} by "npm run generate"; do not edit.\n` +
  stringify(document, { aliasDuplicateObjects: false, lineWidth: 120 });

/** Both grants share one path, and one path and method are one operation of a document. */
const token = defineOperation({
  ...jwtBearerToken,
  id: 'token',
  summary: 'Exchange a signed assertion, or client id and secret, for an access token',
  body: {
    media: jwtBearerToken.body.media,
    schema: z.union([jwtBearerToken.body.schema, clientCredentialsToken.body.schema]),
  },
  rules: [...new Set([...clientCredentialsToken.rules, ...jwtBearerToken.rules])],
  repeatable: 'no',
});

/** Every operation of the cloud service as a document takes them. */
export const documentedOperations: readonly Operation[] = [
  token,
  ...Object.values(cloudOperations).filter(({ path }) => path !== token.path),
];

export const cloudSchemas: Readonly<Record<string, z.ZodType>> = {
  ActivityLog: activityLog,
  ApiError: apiError,
  ArmingSetting: armingSetting,
  ArmingStatus: armingStatus,
  AudioMessage: audioMessage,
  Contact: contact,
  Dealer: dealer,
  Device: device,
  EventAnswer: eventAnswer,
  EventError: eventError,
  MonitoringStation: monitoringStation,
  Nvr: nvr,
  OauthError: oauthError,
  PartitionState: partitionState,
  PartitionStatus: partitionStatus,
  PartnerError: partnerError,
  Playback: playback,
  Site: site,
  SiteWithBridge: siteWithBridge,
  TokenAnswer: tokenAnswer,
};

const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description });

export const cloudCredentials: NonNullable<OpenApiOptions['credentials']> = {
  partner: bearer('Access token of the client credentials grant at {base_url}/oauth/token.'),
  user: bearer('Access token bound to a user of the dealer; the service does not say how it is had.'),
  event: bearer('Access token of the JWT bearer grant at {auth_url}/oauth/token.'),
  api_key: bearer('The API key itself; nothing is exchanged.'),
};

export const cloudTags: NonNullable<OpenApiOptions['tags']> = [
  { name: 'tokens', description: 'Both grants; errors as in RFC 6749 section 5.2.' },
  { name: 'events', description: 'What happened at a site, and where its pictures go.' },
  { name: 'dealers', description: 'Companies that look after sites.' },
  { name: 'sites', description: 'Sites of a dealer.' },
  { name: 'monitoring stations', description: 'Alarm receiving centres of a dealer.' },
  { name: 'contacts', description: 'People to call about a site.' },
  { name: 'devices', description: 'Cameras and bridges of a site; bulk calls judge each item on its own.' },
  { name: 'arming', description: 'Who arms a site, and whether it is armed.' },
  { name: 'nvrs', description: 'Network video recorders of a site.' },
  { name: 'activity logs', description: 'What was done at a site.' },
  { name: 'alarm verifications', description: 'Answers of contacts who were asked about an alarm.' },
  { name: 'audio messages', description: 'Messages played through the speakers of a site.' },
  { name: 'public', description: 'Commands to partitions and devices; only the path to arm is known for certain.' },
];

/** The licence of the document, not of the service. */
export const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' } as const;

interface Document extends JsonObject {
  readonly info: JsonObject;
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
}

/** The document with something added to each of its operations. */
export function withEach(document: JsonObject, add: (operation: Operation) => JsonObject, of: readonly Operation[]) {
  const { info, paths, ...rest } = document as Document;
  const byId = new Map(of.map((operation) => [operation.id, operation]));
  const widened = Object.entries(paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(item).map(([method, one]) => {
        const operation = byId.get(String(one.operationId));
        return [method, { ...one, ...(operation === undefined ? {} : add(operation)) }];
      }),
    ),
  ]);
  return { openapi: rest.openapi, info: { ...info, license }, ...rest, paths: Object.fromEntries(widened) };
}
