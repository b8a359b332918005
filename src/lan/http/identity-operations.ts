import { z } from 'zod';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { version } from '#lib/version.ts';
import { withDeadline } from '#lib/wait.ts';
import { answerDeadlineMs, json } from './answering.ts';
import { lanOperation, problemResponse } from './lan-operation.ts';
import type { LanPort } from './port.ts';

/** What everybody may know, so that a program finds out whom it talks to; nothing of it tells one bridge from another. */
const identity = z.object({
  model: z.literal('siteward'),
  version: z.string(),
  /** `unusable`: nobody comes in over the network until somebody at the box has mended it. */
  claimed: z.enum(['yes', 'no', 'unusable']),
  api_versions: z.array(z.string()),
});

const getIdentity = lanOperation({
  id: 'getIdentity',
  method: 'GET',
  path: '/.well-known/siteward',
  summary: 'What answers here, and whether somebody has claimed it',
  responses: { 200: { description: 'The bridge', media: 'application/json', schema: identity } },
  repeatable: 'yes',
  rules: [],
  tags: ['health'],
});

const getAuthority = lanOperation({
  id: 'getAuthority',
  method: 'GET',
  path: '/ca.crt',
  summary: 'The certificate authority of the site, PEM, for programs and browsers that are to trust the bridge',
  responses: {
    200: { description: 'It is shown by no bridge of another site', media: 'application/x-x509-ca-cert' },
    404: problemResponse('The bridge shows a certificate of your own, or none was made yet'),
    503: problemResponse('It cannot be read at the moment'),
  },
  repeatable: 'yes',
  rules: [],
  tags: ['health'],
});

export const identityOperations = { getIdentity, getAuthority } as const;

export function identityHandlers(port: LanPort): Handlers<typeof identityOperations, By> {
  return {
    getIdentity: () => json({ model: 'siteward', version, claimed: claimed(port), api_versions: ['v1'] }),
    getAuthority: async ({ signal }) => ({
      status: 200,
      body: await withDeadline(answerDeadlineMs, signal, () => port.authority(), 'reading the authority'),
      headers: {
        'content-type': 'application/x-x509-ca-cert',
        'content-disposition': 'attachment; filename="siteward-ca.crt"',
        'cache-control': 'no-store',
      },
    }),
  };
}

const words = { claimed: 'yes', unclaimed: 'no', unusable: 'unusable' } as const;

function claimed(port: LanPort): z.output<typeof identity>['claimed'] {
  try {
    return words[port.access().shown()];
  } catch {
    return 'unusable';
  }
}
