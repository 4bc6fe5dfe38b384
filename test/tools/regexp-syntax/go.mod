module heliograph.dev/tools/regexp-syntax

go 1.26.0
