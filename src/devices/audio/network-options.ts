import { z } from 'zod';

/** What speakers on the network are told by HTTP. */

export const word = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}*$/u, 'must not hold control characters');

const noUser = 'must not hold a user name or password; use username and password';
const hasNoUser = (text: string) => !/^[a-z]+:\/\/[^/?#]*@/i.test(text);

const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an address such as http://192.0.2.30/play' })
  .max(1000)
  .refine(hasNoUser, noUser);

export const streamUrl = z
  .url({ protocol: /^rtsps?$/, error: 'must be an address such as rtsp://192.0.2.30:554/stream1' })
  .max(1000)
  .refine(hasNoUser, noUser);

const method = z.enum(['GET', 'POST', 'PUT', 'DELETE']);

export const pushOptions = z
  .strictObject({
    url: httpUrl.describe('Where the sound is sent.'),
    method: z.enum(['POST', 'PUT']).default('POST').describe('How.'),
    content_type: word(100).default('audio/basic').describe('The kind of sound, as the device names it.'),
    encoding: z
      .enum(['ulaw', 'alaw', 's16le', 'wav'])
      .default('ulaw')
      .describe('Samples as the device takes them: G.711 ulaw or alaw, s16le, or wav, which is s16le with a head.'),
    answers_early: z
      .boolean()
      .default(false)
      .describe('Whether it answers before it has the whole sound; then nothing proves that it was played.'),
  })
  .describe('Of driver http: siteward sends the sound, as fast as it is heard.');

const triggerUrl = httpUrl.describe(
  'What makes the device play a sound of its own; {message}, {volume} and {repeat} are replaced.',
);
export const triggerOptions = z
  .strictObject({ url: triggerUrl, method: method.default('GET').describe('How.') })
  .describe('Of driver http: the device plays by itself when it is told to; needs stop.');

export const callOptions = (what: string) =>
  z.strictObject({ url: httpUrl.describe('Where.'), method: method.default('GET').describe('How.') }).describe(what);
