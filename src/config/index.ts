export { inputZones, views } from './cameras.ts';
export { applyChanges, type Change } from './changes.ts';
export { parseConfig } from './document.ts';
export { addEntry, changeEntry, changeSection, removeEntry, removeSection, shownEntry } from './edit.ts';
export { configChanged, removeSecretLeftovers, replaceConfigText, writeSecretFile } from './edit-file.ts';
export {
  configPlace,
  factoryText,
  holdsConfigText,
  isWithin,
  overwriteConfigText,
  ownSecretFiles,
  removeConfigBackup,
} from './factory.ts';
export { firstDayId, firstDayText, isFirstDay } from './first-day.ts';
export { type CheckedForm, changedSections, checkForm, configOf, fixedChanges, shownConfig } from './form.ts';
export { wordsOf } from './issues.ts';
export { configJsonSchema } from './json-schema.ts';
export { keepLastGood, loadLastGood } from './last-good.ts';
export {
  type CheckedConfig,
  checkConfig,
  checkText,
  type LoadedConfig,
  loadConfig,
  type OtherProblem,
  referencedFiles,
} from './load.ts';
export { newOddNames } from './names.ts';
export { type PatchLine, patchOf } from './patch.ts';
export {
  ConfigError,
  formatPath,
  formatProblem,
  type Path,
  type Problem,
  pathAndText,
  problemText,
} from './problem.ts';
export { readConfigText } from './read-text.ts';
export { beginSave, endSave } from './save-note.ts';
export type { Config, Settings } from './schema.ts';
export {
  freeSecretFile,
  isOurSecret,
  mustLetIn,
  removeSecrets,
  type SecretFile,
  secretFiles,
  secretFolder,
  secretOwner,
  secretsBeside,
  unusedSecrets,
  writeSecrets,
} from './secret-files.ts';
export { shownPath } from './shown-path.ts';
export { sitePlan } from './site-plan.ts';
export type { Members } from './splice.ts';
