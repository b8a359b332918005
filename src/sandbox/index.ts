export * from './cameras/index.ts';
export * from './cloud/index.ts';
