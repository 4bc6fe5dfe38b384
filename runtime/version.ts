// What a pod runs, a folder a part; the programs start in `program/`. No definitions of resources are here.
/** Version of this program; a test holds it equal to package.json's. */
export const version = "0.1.0";
