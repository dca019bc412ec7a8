module stock-seller

go 1.24.0
