import { SitewardError } from '#errors.ts';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import type { Asker, AudioPort, CancelWish } from '#site/model/index.ts';
import { answerDeadlineMs, askerOf, json, playMs } from './answering.ts';
import type { audioOperations } from './audio-operations.ts';
import type { CancelBody } from './audio-schemas.ts';
import type { LanPort } from './port.ts';

/** As playbacks and the audit log name who asked. */
const byOf = (identity: By): string | Asker => (identity.from === 'local' ? 'local' : askerOf(identity));
/** Four changes of the library wait for each other, and ffmpeg has 20 s for a file. */
const changeMs = 120_000;

/** Who asked goes with everything that sounds, changes or ends. */
export function audioHandlers(
  port: AudioPort,
  mayEndAlarms: LanPort['mayEndAlarms'],
): Handlers<typeof audioOperations, By> {
  /** At the box somebody stands beside it, and whoever asked for an alarm may take it back; everybody else needs a code (safety 1, 9). */
  function takesCode({ playback, alarms }: CancelBody, { from }: By, client: string): boolean {
    if (from === 'local') return false;
    const named = port.playbacks().find(({ playback_id }) => playback_id === playback);
    return alarms || (named?.category === 'alarm' && named.requested_by !== client);
  }

  return {
    listMessages: () => json({ items: port.messages() }),
    async importMessage({ query, body: sound, identity, signal }) {
      const { file_name: fileName, replace, ...fields } = query;
      const wish = { sound, fields, replace: replace === 'true', ...(fileName !== undefined && { fileName }) };
      return json(
        await withDeadline(
          changeMs,
          signal,
          (timely) => port.import(wish, byOf(identity), timely),
          'importing a message',
        ),
      );
    },
    async removeMessage({ params: { key }, identity, signal }) {
      await withDeadline(changeMs, signal, () => port.remove(key, byOf(identity)), 'removing a message');
      return json({ removed: key });
    },
    listSpeakers: () => json({ items: port.speakers() }),
    listPlaybacks: ({ query: { limit } }) => json({ items: port.playbacks().slice(0, limit) }),
    getPlayback({ params: { id } }) {
      const found = port.playbacks().find(({ playback_id }) => playback_id === id);
      if (found === undefined) throw unknown(`there is no playback ${id}, or it is not kept any more`, 'playback_id');
      return json(found);
    },
    playMessage: async ({ body, identity, signal }) =>
      json(
        await withDeadline(playMs, signal, (timely) => port.play(body, byOf(identity), timely), 'playing a message'),
      ),
    async cancelPlaybacks({ body, identity, signal }) {
      const { speaker, alarms } = body;
      if (speaker !== undefined && port.speakers().every(({ device_id }) => device_id !== speaker))
        throw unknown(`there is no speaker ${speaker}`, 'speaker');
      const by = askerOf(identity);
      if (takesCode(body, identity, by.client)) await mayEndAlarms(body.code, by, signal);
      const ended = () => port.cancel(wishOf(body), alarms, byOf(identity));
      return json({ items: await withDeadline(answerDeadlineMs, signal, ended, 'ending playbacks') });
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
