module heliograph-recipient

go 1.21
