import { z } from 'zod';
import {
  audioCategories,
  audioMessageShown,
  deviceId,
  personCode,
  playbackShown,
  speakerShown,
} from '#site/model/index.ts';

const category = z.enum(audioCategories);

export const messageList = z.object({ items: z.array(audioMessageShown) });
/** The key it had. */
export const removedMessage = z.object({ removed: z.string() });
export const speakerList = z.object({ items: z.array(speakerShown) });
export const playbackList = z.object({ items: z.array(playbackShown) });
export type PlaybackEntry = z.output<typeof playbackShown>;
export type AudioMessageEntry = z.output<typeof audioMessageShown>;
export type SpeakerEntry = z.output<typeof speakerShown>;

/** What is said of a sound file that is imported; the library knows more of each, and names the field it does not take. */
export const importQuery = z.strictObject({
  name: z.string().max(255).describe('What people call it; the key is made of it where none is given.'),
  key: z.string().max(255).exactOptional().describe('By which it is played.'),
  description: z.string().max(2_000).exactOptional(),
  language: z.string().max(35).exactOptional().describe('Tag such as en-US; `zxx`, where nobody speaks, when absent.'),
  category: category.exactOptional().describe('When absent that of the built-in one it replaces, or `custom`.'),
  file_name: z.string().max(255).exactOptional().describe('As the file was called; only its ending is looked at.'),
  replace: z.enum(['true', 'false']).exactOptional().describe('Put it in the place of the one of its key.'),
});

export const messageParams = z.strictObject({ key: z.string().min(1).max(255) });
export const playbackParams = z.strictObject({ id: z.string().min(1).max(255) });

export const playbacksQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('How many, newest first.'),
});

/** Exactly one of the first four. */
export const cancelBody = z
  .strictObject({
    playback: z.string().min(1).max(255).exactOptional().describe('Id of one.'),
    speaker: deviceId.exactOptional().describe('Whatever plays or waits on it.'),
    category: category.exactOptional(),
    all: z.literal(true).exactOptional(),
    alarms: z.boolean().default(false).describe('End alarms, too. One that is named by its id is ended in any case.'),
    code: personCode
      .exactOptional()
      .describe(
        'Of somebody who may disarm: over the network alarms end with it alone, but for those of whoever asks.',
      ),
  })
  .refine(
    ({ playback, speaker, category, all }) =>
      [playback, speaker, category, all].filter((one) => one !== undefined).length === 1,
    'must name one of playback, speaker, category, all',
  );
export type CancelBody = z.output<typeof cancelBody>;
