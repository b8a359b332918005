export { renderCommand } from './commands.ts';
export { type Compiled, type CompileOptions, compileProfile } from './compile.ts';
export type { PanelHint } from './hints.ts';
export {
  emptyMemory,
  interpret,
  type Memory,
  type Message,
  type Note,
  type Reading,
} from './interpret.ts';
export { type BuiltPanel, buildPanels, loadProfile, profileIds } from './load.ts';
export { createMapping, type Mapping, type MappingHint, mapReading } from './mapping.ts';
export { type PanelOptions, panelOptions } from './options.ts';
export { createPanels, type Panels, type PanelsOptions } from './panels.ts';
export { type Profile, profileSchema } from './profile.ts';
