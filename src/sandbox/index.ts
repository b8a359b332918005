export * from './cameras/index.ts';
export * from './cloud/index.ts';
export { lineCommands } from './lines.ts';
export * from './panel/index.ts';
export { runSandbox } from './run.ts';
