import { SitewardError } from '#errors.ts';
import type { Handlers, Reply } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import type { AudioPort, CancelWish } from '#site/model/index.ts';
import type { audioOperations } from './audio-operations.ts';
import type { CancelBody } from './audio-schemas.ts';

/** The first sample takes a second at most, an answer of the service five and a half. */
const playMs = 8_000;
/** As the room of the speakers names who may open the socket. */
const by = 'local';
/** Four changes of the library wait for each other, and ffmpeg has 20 s for a file. */
const changeMs = 120_000;

/** Who asked goes with everything that sounds, changes or ends. */
export function audioHandlers(
  port: AudioPort,
  { deadlineMs, json }: { deadlineMs: number; json: (body: unknown) => Reply },
): Handlers<typeof audioOperations, 'local'> {
  return {
    listMessages: () => json({ items: port.messages() }),
    async importMessage({ query, body: sound, signal }) {
      const { file_name: fileName, replace, ...fields } = query;
      const wish = { sound, fields, replace: replace === 'true', ...(fileName !== undefined && { fileName }) };
      return json(
        await withDeadline(changeMs, signal, (timely) => port.import(wish, by, timely), 'importing a message'),
      );
    },
    async removeMessage({ params: { key }, signal }) {
      await withDeadline(changeMs, signal, () => port.remove(key, by), 'removing a message');
      return json({ removed: key });
    },
    listSpeakers: () => json({ items: port.speakers() }),
    listPlaybacks: ({ query: { limit } }) => json({ items: port.playbacks().slice(0, limit) }),
    getPlayback({ params: { id } }) {
      const found = port.playbacks().find(({ playback_id }) => playback_id === id);
      if (found === undefined) throw unknown(`there is no playback ${id}, or it is not kept any more`, 'playback_id');
      return json(found);
    },
    playMessage: async ({ body, signal }) =>
      json(await withDeadline(playMs, signal, (timely) => port.play(body, by, timely), 'playing a message')),
    async cancelPlaybacks({ body, signal }) {
      const { speaker, alarms } = body;
      if (speaker !== undefined && port.speakers().every(({ device_id }) => device_id !== speaker))
        throw unknown(`there is no speaker ${speaker}`, 'speaker');
      const ended = () => port.cancel(wishOf(body), alarms, by);
      return json({ items: await withDeadline(deadlineMs, signal, ended, 'ending playbacks') });
    },
  };
}

function wishOf({ playback, speaker, category }: CancelBody): CancelWish {
  if (playback !== undefined) return { playback };
  if (speaker !== undefined) return { speaker };
  return category === undefined ? 'all' : { category };
}

const unknown = (message: string, field: string): SitewardError =>
  new SitewardError('audio_unknown', message, { facts: { field } });
