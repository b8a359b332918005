export * from './arming.ts';
export * from './command.ts';
export * from './event.ts';
export * from './ids.ts';
export * from './signal.ts';
export * from './view.ts';
export * from './zone.ts';
