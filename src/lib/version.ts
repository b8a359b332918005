/** The version of siteward; a test keeps it equal to package.json. */
export const version = '0.1.0-dev';
