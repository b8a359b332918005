export { type InputZone, inputZones, type View, views } from './cameras.ts';
export { parseConfig } from './document.ts';
export { addEntry, changeEntry, changeSection, type Members, removeEntry, shownEntry } from './edit.ts';
export { removeSecretLeftovers, replaceConfigText, writeSecretFile } from './edit-file.ts';
export { configJsonSchema } from './json-schema.ts';
export { keepLastGood, loadLastGood } from './last-good.ts';
export {
  type CheckedConfig,
  type ConfigEnvironment,
  checkConfig,
  checkText,
  type LoadedConfig,
  loadConfig,
  type OtherProblem,
  referencedFiles,
} from './load.ts';
export { ConfigError, formatProblem, type Problem } from './problem.ts';
export { type Config, configSchema, type Settings } from './schema.ts';
export { sitePlan } from './site-plan.ts';
