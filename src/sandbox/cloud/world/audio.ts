import type { AudioMessage, PlaybackStatus } from '#cloud/contract/index.ts';
import type { PlaybackRow, SiteRow } from './rows.ts';

const message = (
  audio_message_id: string,
  name: string,
  description: string,
  rest: Pick<AudioMessage, 'duration_seconds' | 'category'>,
): AudioMessage => ({ audio_message_id, name, description, language: 'en-US', ...rest });

/** Messages of a site that was given none of its own. No text claims that police are coming (safety 9). */
const standardMessages: readonly AudioMessage[] = [
  message('msg-intruder', 'Intruder', 'You are being recorded. Leave the premises.', {
    duration_seconds: 8,
    category: 'alarm',
  }),
  message('msg-closing', 'Closing', 'We close in ten minutes.', { duration_seconds: 5, category: 'announcement' }),
  message('msg-test', 'Test', 'This is a test of the speakers.', { duration_seconds: 3, category: 'test' }),
  message('msg-welcome', 'Welcome', 'Welcome.', { duration_seconds: 2, category: 'greeting' }),
];

export const messagesOf = (site: SiteRow): readonly AudioMessage[] => site.audio_messages ?? standardMessages;

/** Where a playback stands at a moment: queued, then playing, then completed. Nothing but the clock moves it. */
export function statusAt(playback: PlaybackRow, nowMs: number): PlaybackStatus {
  if (nowMs < Date.parse(playback.started_at)) return 'queued';
  return nowMs < Date.parse(playback.ends_at) ? 'playing' : 'completed';
}

/** When a site's speakers are free: playbacks of a site follow each other. */
export const freeAt = (playbacks: readonly PlaybackRow[], nowMs: number): number =>
  playbacks.reduce((latest, { ends_at }) => Math.max(latest, Date.parse(ends_at)), nowMs);
