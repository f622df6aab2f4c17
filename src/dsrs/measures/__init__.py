"""What results say together: certified accuracy, intervals, rounded figures."""
