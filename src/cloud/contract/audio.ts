import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { type AudioMessageShown, audioCategories, playbackStates } from '#site/model/index.ts';
import type { Dialect } from './dialect.ts';
import { apiError } from './errors.ts';
import { answerTime, count, must, opaqueId, pathId, record } from './fields.ts';
import { optionalJson } from './partner.ts';

export { type PlaybackState as PlaybackStatus, playDefaults } from '#site/model/index.ts';

export const audioMessage = z.object({
  audio_message_id: z.string(),
  name: z.string(),
  description: z.string(),
  duration_seconds: z.number().min(0),
  language: z.string().regex(/^[a-z]{2}-[A-Z]{2}$/, 'must be a language tag such as de-DE'),
  category: z.enum(audioCategories),
});
export type AudioMessage = z.output<typeof audioMessage>;

/** A language as `<ll>-<CC>`: `de_de` is `de-DE`, `en` is `en-US`; undefined for what is none, such as `zxx`. */
export function languageTag(text: string): string | undefined {
  try {
    const locale = new Intl.Locale(text.trim().slice(0, 35).replaceAll('_', '-'));
    const { language } = locale;
    const { region = '' } = locale.maximize();
    return /^[a-z]{2}$/.test(language) && /^[A-Z]{2}$/.test(region) ? `${language}-${region}` : undefined;
  } catch {
    return undefined;
  }
}

/** A message of ours as it goes onto the wire: where nobody speaks, the service still wants a language, that of the site. */
export const messageOnWire = (message: AudioMessageShown, siteLanguage = 'en-US'): AudioMessage => ({
  audio_message_id: message.audio_message_id,
  name: message.name,
  description: message.description,
  duration_seconds: message.duration_seconds,
  language: languageTag(message.language) ?? siteLanguage,
  category: message.category,
});

const audioMessageList = z.object({
  data: z.object({ audio_messages: z.array(audioMessage), total_count: z.int().min(0) }),
});

/** S-174. Nothing can be asked about a playback later: `playing` says requested, not heard (S-176). */
export const playback = z.object({
  playback_id: z.string(),
  audio_message_id: z.string(),
  status: z.enum(playbackStates),
  started_at: answerTime(),
  volume: z.int().min(0).max(100),
  repeat: z.int().min(1).max(5),
  devices: z.array(z.object({ device_id: z.string(), name: z.string(), status: z.enum(playbackStates) })),
});
export type Playback = z.output<typeof playback>;

/** Device ids are text here and numbers elsewhere: both are taken and compared as text (S-173). */
const targetDevice = z
  .union([z.string().min(1), z.int()], { error: must('a device id') })
  .transform(String)
  .pipe(z.string().max(255, 'must have at most 255 characters'));

export const playRequest = record({
  volume: count(0, 100).optional().describe('Percent; 70 when absent.'),
  repeat: count(1, 5).optional().describe('How often it is played; 1 when absent.'),
  target_devices: z
    .array(targetDevice, { error: must('an array of device ids') })
    .min(1, 'must hold at least one device, or be left out for all')
    .max(500, 'must hold at most 500 devices')
    .optional()
    .describe('Devices that play it; all when absent.'),
});
export type PlayRequest = z.output<typeof playRequest>;

const refusals = {
  401: { description: 'The API key is missing or wrong', schema: apiError },
  404: { description: 'The site or the message does not exist', schema: apiError },
} as const;

const messageId = { audio_message_id: opaqueId() } as const;
const siteIdParams = z.object({ site_id: pathId() });
const referenceParams = z.object({ account_reference_id: opaqueId() });

const list = {
  base: 'ext',
  method: 'GET',
  responses: { 200: { description: 'The messages of the site', schema: audioMessageList }, ...refusals },
  auth: ['api_key'],
  repeatable: 'yes',
  tags: ['audio messages'],
} as const;

/** Never sent again after a lost reply: it would be heard twice (S-177). */
const play = {
  base: 'ext',
  method: 'POST',
  body: optionalJson(playRequest),
  responses: {
    200: { description: 'The playback that was started', schema: z.object({ data: playback }) },
    400: { description: 'A value is out of range, or a device is unknown', schema: apiError },
    ...refusals,
  },
  auth: ['api_key'],
  repeatable: 'no',
  tags: ['audio messages'],
} as const;

const playRules = ['S-041', 'S-171', 'S-172', 'S-173', 'S-174', 'S-176', 'S-177'] as const;
const referencePath = '/ref/v1/sites/{account_reference_id}';

const listAudioMessages = defineOperation({
  ...list,
  id: 'listAudioMessages',
  path: '/ext/v1/sites/{site_id}/audio-messages',
  summary: 'List the audio messages of a site',
  params: siteIdParams,
  rules: ['S-041', 'S-170'],
});

const playAudioMessage = defineOperation({
  ...play,
  id: 'playAudioMessage',
  path: '/ext/v1/sites/{site_id}/audio-messages/{audio_message_id}/play',
  summary: 'Play an audio message through the speakers of a site',
  params: siteIdParams.extend(messageId),
  rules: playRules,
});

const listReferencedAudioMessages = defineOperation({
  ...list,
  id: 'listReferencedAudioMessages',
  path: `${referencePath}/audio-messages`,
  summary: 'List the audio messages of a site, addressed by its account reference',
  params: referenceParams,
  rules: ['S-041', 'S-170', 'S-175'],
});

const playReferencedAudioMessage = defineOperation({
  ...play,
  id: 'playReferencedAudioMessage',
  path: `${referencePath}/audio-messages/{audio_message_id}/play`,
  summary: 'Play an audio message through the speakers of a site, addressed by its account reference',
  params: referenceParams.extend(messageId),
  rules: [...playRules, 'S-175'],
});

export const audioOperations = {
  listAudioMessages,
  playAudioMessage,
  listReferencedAudioMessages,
  playReferencedAudioMessage,
} as const;

/** The same operations with the reference path of a dialect (S-175). */
export function audioOperationsFor({ ref_path }: Pick<Dialect, 'ref_path'>): typeof audioOperations {
  const moved = <O extends { readonly path: string }>(operation: O): O => ({
    ...operation,
    path: operation.path.replace(referencePath, ref_path),
  });
  return {
    ...audioOperations,
    listReferencedAudioMessages: moved(listReferencedAudioMessages),
    playReferencedAudioMessage: moved(playReferencedAudioMessage),
  };
}
