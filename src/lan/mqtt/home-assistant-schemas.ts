import { z } from 'zod';
import { armingWords } from '#site/model/index.ts';
import { partitionDetail, time } from './schemas.ts';

/** Payloads of the topics that are Home Assistant's alone. */

/** The state of a partition as Home Assistant takes it: it knows no `unknown`, and reads `None` as that. */
export const haWords = [...armingWords.filter((word) => word !== 'unknown'), 'None'] as const;
export type HaWord = (typeof haWords)[number];

/** What it shows beside the state. `changed_by`, `code_format` and the like it takes from nobody. */
export const haAttributes = partitionDetail.pick({
  mode: true,
  ready: true,
  open_zones: true,
  bypassed: true,
  shut_zones: true,
  memory: true,
  alarm: true,
  test: true,
  not_armed: true,
  arm_wait: true,
  source: true,
  at: true,
});
export type HaAttributes = z.infer<typeof haAttributes>;

export const haActions = [
  'ARM_AWAY',
  'ARM_HOME',
  'ARM_NIGHT',
  'ARM_VACATION',
  'ARM_CUSTOM_BYPASS',
  'DISARM',
  'TRIGGER',
] as const;
export const haAction = z.enum(haActions);
export type HaAction = z.infer<typeof haAction>;

/** What the template of its discovery makes of a key press; `code` is empty where nobody typed one. */
export const haCommand = z.strictObject({
  action: haAction,
  code: z.string().max(64).exactOptional(),
  issued_at: time,
});
export type HaCommand = z.infer<typeof haCommand>;
