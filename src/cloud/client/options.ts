import { z } from 'zod';
import { dialectOptions } from '#cloud/contract/index.ts';
import { isLoopback } from '#lib/host.ts';
import { secretRef } from '#lib/secret-ref.ts';

/** What is wrong with a cloud address, in words; undefined when it can be used. */
export function cloudUrlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be an address such as https://api.example.net';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must start with https://';
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return 'must start with https://; http:// is taken only for 127.0.0.1, ::1 and localhost';
  }
  if (url.username !== '' || url.password !== '') return 'must hold no user name or password';
  if (url.search !== '' || url.hash !== '') return 'must end with the host or a path, without ? or #';
  return undefined;
}

/** Kept as written, because `auth_url` is also the audience a server compares letter by letter (RFC 7523 3). */
const cloudUrl = () =>
  z
    .string()
    .max(2048)
    .superRefine((text, context) => {
      const problem = cloudUrlProblem(text);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    });

const eventClient = z.strictObject({
  client_id: z.string().min(1).max(255).describe('Client id the operator gave the bridge for sending events.'),
  private_key: secretRef.describe('RSA private key (PKCS#8 PEM, 2048 bits or more) that signs the assertions.'),
  next_private_key: secretRef.optional().describe('Key that is tried when the cloud no longer takes private_key.'),
  key_id: z.string().min(1).max(255).optional().describe('Key id ("kid") of private_key, if the operator named one.'),
  next_key_id: z.string().min(1).max(255).optional().describe('Key id ("kid") of next_private_key.'),
  location_id: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe('Value of "location_id" in events; site.external_id unless set.'),
});

const partnerClient = z.strictObject({
  client_id: z.string().min(1).max(255).describe('Client id for the partner interface.'),
  client_secret: secretRef.describe('Client secret for the partner interface.'),
});

/** The `cloud` part of the configuration file. */
export const cloudOptions = z.strictObject({
  base_url: cloudUrl().describe('Address of the cloud service.'),
  auth_url: cloudUrl().describe('Address of the token server for events.'),
  ext_base_url: cloudUrl().optional().describe('Address of the audio messages interface.'),
  audience: z
    .string()
    .min(1)
    .max(2048)
    .optional()
    .describe('Audience of the signed assertions; auth_url as written unless set.'),
  events: eventClient.describe('How the bridge proves who it is when it sends events.'),
  partner: partnerClient.optional().describe('How the bridge proves who it is on the partner interface.'),
  api_key: secretRef.optional().describe('Key for the audio messages and public interfaces.'),
  devices: z
    .enum(['automatic', 'manual'])
    .default('automatic')
    .describe(
      'automatic: the service is kept told of this bridge, its cameras and recorders; manual: only by "siteward device sync" (docs/cloud-devices.md).',
    ),
  dialect: dialectOptions.prefault({}).describe('Choices for what the service leaves open.'),
});
