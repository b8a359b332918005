import { z } from 'zod';
import { audioCategories, clockQuality, deliveries, playbackReasons, playbackStates } from '#site/model/index.ts';
import type { Playback } from './types.ts';

const stamp = z.strictObject({ mono: z.number(), wall: z.number(), boot: z.string(), clock: clockQuality });
const alarmId = { id: z.string() };

const row: z.ZodType<Playback> = z.strictObject({
  version: z.literal(1),
  id: z.string(),
  message: z.strictObject({ id: z.string(), key: z.string(), name: z.string(), sha256: z.string() }),
  category: z.enum(audioCategories),
  alarm: z
    .discriminatedUnion('cause', [
      z.strictObject({ cause: z.enum(['fire', 'life_safety']), ...alarmId, of: z.string().exactOptional() }),
      z.strictObject({ cause: z.literal('burglary'), ...alarmId, partition: z.string() }),
    ])
    .exactOptional(),
  volume: z.int().min(0).max(100),
  repeat: z.int().min(1).max(5),
  requestedBy: z.string(),
  createdAt: stamp,
  seq: z.int().min(0),
  joined: z.array(z.string()),
  parts: z
    .array(
      z.strictObject({
        speaker: z.string(),
        name: z.string(),
        status: z.enum(playbackStates),
        reason: z.enum(playbackReasons).exactOptional(),
        begun: z.literal(true).exactOptional(),
        cuts: z.int().min(0),
        startedAt: stamp.exactOptional(),
        endedAt: stamp.exactOptional(),
        playedMs: z.int().min(0).exactOptional(),
        delivered: z.enum(deliveries).exactOptional(),
      }),
    )
    .min(1),
});

/** A playback as the journal holds it; undefined where that is none, such as one of another version. */
export function readRow(stored: unknown): Playback | undefined {
  const read = row.safeParse(stored);
  return read.success ? read.data : undefined;
}
