// Ends a process of the load when the bench ends, however that came.
process.once("disconnect", () => process.exit());
