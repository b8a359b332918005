export { type Audio, createAudio } from './audio.ts';
export { SpeakerError } from './driver.ts';
export { pinnedTo } from './drivers/network.ts';
export type { AlarmMark, CancelTarget, PlayAnswer, PlayRefusal, PlayRequest } from './engine/index.ts';
export { raised } from './engine/index.ts';
export {
  type CloudMessage,
  type Found,
  type ImportRequest,
  type Library,
  type Message,
  matchCatalogue,
  otherLanguages,
} from './library/index.ts';
export type { SpeakerOptions } from './options.ts';
export type * from './ports.ts';
export { probeLocalSpeaker } from './probe-local.ts';
export type { ClockPlan, ClockRun, NextRuns } from './rules/index.ts';
export type { AudioPlan } from './speakers.ts';
